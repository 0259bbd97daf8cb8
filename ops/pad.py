"""Pad: a border of one value around an image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, Dim, Graded, TensorSpec, require, require_whole


@dataclass(frozen=True)
class Pad(Op[Edge]):
    """A border of `value`, so many pixels wide at each side.

    Input:      image   uint8 or float32 [h,w,C]   channels last
    Output:     padded  [top+h+bottom,left+w+right,C], of the same dtype
    Errors:     SpecError for a side below 0, or a value that the dtype cannot hold.
    Reference:  ONNX Pad, mode constant
    Deviation:  none, every byte

    >>> str(Pad(top=1, left=2, value=114).infer(TensorSpec("uint8", (4, 4, 3))))
    'uint8[5,6,3]'
    """

    lowered_within: ClassVar[float | None] = 0.0
    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0
    value: float = 0

    def infer(self, image: TensorSpec) -> TensorSpec:
        require(image, "image", dtype=("uint8", "float32"), rank=3)
        for side in ("top", "bottom", "left", "right"):
            require_whole(side, getattr(self, side), least=0)
        if image.dtype == "uint8":
            require_level("value", self.value)
        elif isinstance(self.value, bool) or not isinstance(self.value, (int, float)) or math.isnan(self.value):
            raise SpecError(f"value is {self.value!r}", fix="give a number")
        height, width, channels = image.shape
        return TensorSpec(
            image.dtype,
            (
                _longer(height, self.top + self.bottom, "padded_height"),
                _longer(width, self.left + self.right, "padded_width"),
                channels,
            ),
        )

    def run(self, image: Array, out: Array | None = None) -> Array:
        height, width, channels = image.shape
        if out is None:
            shape = (self.top + height + self.bottom, self.left + width + self.right, channels)
            out = np.empty(shape, image.dtype)
        inside(out, self.top, self.left, height, width, self.value)[...] = image
        return out

    def lower(self, g: Builder, image: Value) -> Value:
        pads = np.array([0, self.top, self.left, 0, 0, self.bottom, self.right, 0], np.int64)
        return g.op("Pad", image, g.constant(pads), g.constant(np.array(self.value, image.spec.numpy)))


def inside(out: Array, top: int, left: int, height: int, width: int, value: float) -> Array:
    """Fill what lies around a rectangle of `out`; the view of the rectangle, which is left as it was."""
    out[:top] = value
    out[top + height :] = value
    rows = out[top : top + height]
    rows[:, :left] = value
    rows[:, left + width :] = value
    return rows[:, left : left + width]


def require_level(name: str, value: float) -> None:
    """Refuse an attribute that is not a level of a uint8 pixel."""
    if isinstance(value, bool) or value not in range(256):
        raise SpecError(f"{name} is {value!r}, the pixels are uint8", fix="give a whole number from 0 to 255")


def _longer(dim: Dim, by: int, name: str) -> Dim:
    if isinstance(dim, int):
        return dim + by
    if by and isinstance(dim, Graded):
        return Graded(name, tuple(value + by for value in dim.values))
    return name if by else dim
