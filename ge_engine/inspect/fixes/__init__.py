"""Fixes: each mends one thing of a model, in place, and says in words what it did; nothing where all is well.

They do not judge themselves: repair.py proves each against the original, and drops what it cannot prove.
"""

from .cast_ends import cast_ends
from .convert_opset import convert_opset
from .drop_dead import drop_nodes, drop_outputs
from .expand_operators import expand_operators
from .fold_constants import fold_constants
from .free_shapes import free_shapes
from .name_axes import name_axes
from .unscalar import unscalar

__all__ = [
    "cast_ends",
    "convert_opset",
    "drop_nodes",
    "drop_outputs",
    "expand_operators",
    "fold_constants",
    "free_shapes",
    "name_axes",
    "unscalar",
]
