"""Dims by name: what npu_ge computes from the names of dims in an ONNX file, and how to give it names that it reads."""

from .exporter import rewritten
from .expression import FIX, Expression, clash
from .law import law
from .names import is_invented, legal_names

__all__ = ["FIX", "Expression", "clash", "is_invented", "law", "legal_names", "rewritten"]
