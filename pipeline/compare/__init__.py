"""Compare: where two ways of computing the same model part, value by value.

fp16 as an NPU computes it against fp32, one model against another, a device's dumped tensors against the CPU. Words and
columns are those of Ascend's own comparison tools.
"""

from .compare import compare
from .limits import Limits
from .result import Comparison

__all__ = ["Comparison", "Limits", "compare"]
