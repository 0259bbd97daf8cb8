"""Resize: an image to another size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from .errors import SpecError
from .op import Edge, Op
from .pillow_filter import FILTERS as PILLOW
from .pillow_filter import pillow_resize
from .spec import Array, TensorSpec, require, require_whole

OPENCV = {
    "opencv_linear": cv2.INTER_LINEAR,
    "opencv_area": cv2.INTER_AREA,
    "opencv_cubic": cv2.INTER_CUBIC,
    "opencv_nearest_exact": cv2.INTER_NEAREST_EXACT,
}


@dataclass(frozen=True)
class Resize(Op[Edge]):
    """To height x width; or, with shorter=, the shorter side to that and the other in proportion, rounded down.

    A filter's name says whose it is, since namesakes differ. Pillow's bilinear and bicubic widen when shrinking
    (antialiasing); of OpenCV's only area does. Models trained with torchvision or Hugging Face saw Pillow's.
    Host only: ONNX's Resize has none of these bytes.

    Input:      image    uint8 or float32 [h,w,C]  channels last, C is 1 or 3; float32 for OpenCV's filters only
    Output:     resized  [height,width,C]          of the same dtype; with shorter=, names for the sides unless h and w
                                                   are known
    Errors:     SpecError for an unknown filter, a Pillow filter of float32, or a size that is missing, given twice or
                no whole number.
    Reference:  opencv_*: cv2.resize as installed; pillow_*: Pillow 12.2; shorter=: torchvision Resize(int)
    Deviation:  none, every byte

    >>> str(Resize(height=224, width=224).infer(TensorSpec("uint8", ("H", "W", 3))))
    'uint8[224,224,3]'
    >>> str(Resize(shorter=224, filter="pillow_bicubic").infer(TensorSpec("uint8", (480, 640, 3))))
    'uint8[224,298,3]'
    """

    height: int | None = None
    width: int | None = None
    filter: str = "opencv_linear"
    shorter: int | None = None

    def infer(self, image: TensorSpec) -> TensorSpec:
        require_pixels(image, ("uint8",) if self.filter in PILLOW else ("uint8", "float32"))
        self._check()
        height, width, channels = image.shape
        if self.shorter is None or (isinstance(height, int) and isinstance(width, int)):
            return TensorSpec(image.dtype, (*self.size(height, width), channels))
        return TensorSpec(image.dtype, ("resized_height", "resized_width", channels))

    def run(self, image: Array, out: Array | None = None) -> Array:
        height, width = self.size(*image.shape[:2])
        if out is None:
            out = np.empty((height, width, image.shape[2]), image.dtype)
        if self.filter in PILLOW:
            pillow_resize(image, self.filter, out)
        else:
            opencv_resize(image, OPENCV[self.filter], out)
        return out

    def size(self, height: Any, width: Any) -> tuple[int, int]:
        """The height and width that such an image gets."""
        if self.shorter is None:
            assert self.height is not None
            assert self.width is not None
            return self.height, self.width
        if height <= width:
            return self.shorter, int(self.shorter * width / height)
        return int(self.shorter * height / width), self.shorter

    def _check(self) -> None:
        given = (self.height is not None, self.width is not None, self.shorter is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise SpecError(
                f"height is {self.height}, width is {self.width}, shorter is {self.shorter}",
                fix="give height and width, or shorter alone",
            )
        for name in ("height", "width", "shorter"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name))
        if self.filter not in (*OPENCV, *PILLOW):
            raise SpecError(
                f"filter {self.filter!r} is not known",
                fix=f"use one of {', '.join((*OPENCV, *PILLOW))}; the one that the model was trained with",
            )


def require_pixels(image: TensorSpec, dtypes: Sequence[str] = ("uint8",)) -> None:
    """Refuse what is not [h,w,C] with 1 or 3 channels, of one of these dtypes."""
    require(image, "image", dtype=dtypes, rank=3)
    if image.shape[2] not in (1, 3):
        raise SpecError(
            f"{image}: image has {image.shape[2]} channels, wanted 1 or 3",
            fix="put the channels last, and give 1 or 3 of them",
            input="image",
        )


def opencv_resize(image: Array, interpolation: int, out: Array) -> None:
    """Resize [h,w,C] to fill `out`, which may be a part of a larger image."""
    if image.shape[2] == 1:
        image, out = image[:, :, 0], out[:, :, 0]
    made = cv2.resize(image, (out.shape[1], out.shape[0]), dst=out, interpolation=interpolation)
    # As it does, silently, for a dst that differs. Where it does not, it mostly gives the very same object back.
    assert made is out or made.ctypes.data == out.ctypes.data, "cv2 wrote elsewhere"
