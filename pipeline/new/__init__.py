"""New: a graph.py to start from, written from what a model's file says."""

from .draft import Draft, draft
from .look import Look, look
from .source import Check

__all__ = ["Check", "Draft", "Look", "draft", "look"]
