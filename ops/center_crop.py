"""CenterCrop: the middle of an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .pad import inside
from .spec import Array, TensorSpec, require, require_whole


@dataclass(frozen=True)
class CenterCrop(Op[Edge]):
    """height x width pixels from the middle; a side that the image lacks is filled with zeros at both ends.

    An odd remainder is split as torchvision does: a crop begins at round((side - crop) / 2), halves to the even
    number; a border is thinner by one at the top and left.

    Input:      image    uint8 or float32 [h,w,C]  channels last
    Output:     cropped  [height,width,C], of the same dtype
    Errors:     SpecError for a size that is no whole number, or an image of several size gears.
    Reference:  torchvision CenterCrop
    Deviation:  none, every byte

    >>> str(CenterCrop(height=224, width=224).infer(TensorSpec("uint8", ("H", "W", 3))))
    'uint8[224,224,3]'
    """

    lowered_within: ClassVar[float | None] = 0.0
    height: int
    width: int

    def infer(self, image: TensorSpec) -> TensorSpec:
        require(image, "image", dtype=("uint8", "float32"), rank=3)
        require_whole("height", self.height)
        require_whole("width", self.width)
        if image.graded:
            sizes = " and ".join(f"{dim.name} of {dim.values}" for dim in image.graded)
            raise SpecError(
                f"{image}: {sizes}: a crop has one size for every gear",
                fix="crop before the op that emits several sizes",
                input="image",
            )
        return TensorSpec(image.dtype, (self.height, self.width, image.shape[2]))

    def run(self, image: Array, out: Array | None = None) -> Array:
        rows, columns = _Cut.of(image.shape[0], self.height), _Cut.of(image.shape[1], self.width)
        if out is None:
            out = np.empty((self.height, self.width, image.shape[2]), image.dtype)
        target = inside(out, rows.border, columns.border, rows.length, columns.length, 0)
        target[...] = image[rows.start : rows.start + rows.length, columns.start : columns.start + columns.length]
        return out

    def corner(self, height: int, width: int) -> tuple[int, int]:
        """The first row and column of an image that are kept."""
        return _Cut.of(height, self.height).start, _Cut.of(width, self.width).start

    def lower(self, g: Builder, image: Value) -> Value:
        height, width, _ = image.spec.shape
        assert isinstance(height, int)
        assert isinstance(width, int)
        cuts = (_Cut.of(height, self.height), _Cut.of(width, self.width))
        starts = np.array([cut.start for cut in cuts], np.int64)
        stops = np.array([cut.start + cut.length for cut in cuts], np.int64)
        axes = np.array([1, 2], np.int64)
        cropped = g.op("Slice", image, g.constant(starts), g.constant(stops), g.constant(axes))
        before = [cut.border for cut in cuts]
        after = [size - cut.border - cut.length for size, cut in zip((self.height, self.width), cuts)]
        if not any(before + after):
            return cropped
        pads = np.array([0, *before, 0, 0, *after, 0], np.int64)
        return g.op("Pad", cropped, g.constant(pads), g.constant(np.zeros((), image.spec.numpy)))


@dataclass(frozen=True)
class _Cut:
    """Along one axis: `length` pixels from `start` on, behind a border of zeros."""

    start: int
    length: int
    border: int

    @classmethod
    def of(cls, side: int, crop: int) -> _Cut:
        if crop > side:
            return cls(0, side, (crop - side) // 2)
        return cls(round((side - crop) / 2), crop, 0)
