"""ResizeCrop: a Resize and the CenterCrop behind it, without the pixels that are cut off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .center_crop import CenterCrop
from .op import Edge, Op
from .pillow_filter import FILTERS, Window, pillow_resize
from .resize import Resize
from .scratch import scratch
from .spec import Array, TensorSpec


@dataclass(frozen=True)
class ResizeCrop(Op[Edge]):
    """Resize(height, width, filter, shorter), then CenterCrop(crop_height, crop_width), in one.

    A Pillow filter, which takes long, computes only what is kept; for OpenCV's the whole has memory that stays. The
    compiler puts it in place of the two.

    Input:      image    uint8 or float32 [h,w,C]      as Resize takes it
    Output:     cropped  [crop_height,crop_width,C]    of the same dtype
    Errors:     SpecError as for Resize and CenterCrop.
    Reference:  torchvision Resize and CenterCrop, with the filter's own bytes
    Deviation:  none, every byte

    >>> str(ResizeCrop(crop_height=2, crop_width=3, shorter=4).infer(TensorSpec("uint8", ("H", "W", 3))))
    'uint8[2,3,3]'
    """

    crop_height: int
    crop_width: int
    height: int | None = None
    width: int | None = None
    filter: str = "opencv_linear"
    shorter: int | None = None

    def infer(self, image: TensorSpec) -> TensorSpec:
        return self._crop.infer(self._resize.infer(image))

    def run(self, image: Array, out: Array | None = None) -> Array:
        height, width = self._resize.size(*image.shape[:2])
        if self.filter not in FILTERS or height < self.crop_height or width < self.crop_width:
            whole = scratch("resized", (height, width, image.shape[2]), image.dtype)
            return self._crop.run(self._resize.run(image, whole), out)
        if out is None:
            out = np.empty((self.crop_height, self.crop_width, image.shape[2]), np.uint8)
        top, left = self._crop.corner(height, width)
        pillow_resize(image, self.filter, out, Window(height, width, top, left))
        return out

    @property
    def _resize(self) -> Resize:
        return Resize(self.height, self.width, self.filter, self.shorter)

    @property
    def _crop(self) -> CenterCrop:
        return CenterCrop(self.crop_height, self.crop_width)
