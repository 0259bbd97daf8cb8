"""Letterbox: an image into a frame of a fixed size, its aspect kept, the rest filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np

from .errors import SpecError
from .op import Edge, Op
from .pad import inside, require_level
from .resize import opencv_resize, require_pixels
from .spec import Array, Dim, Graded, TensorSpec, require_whole


class LetterboxEdges(NamedTuple):
    """The framed image, and the six numbers that take its boxes back to the source."""

    image: Edge
    transform: Edge


@dataclass(frozen=True)
class Letterbox(Op[LetterboxEdges]):
    """Resize (OpenCV linear, up or down) to fit a frame, centre, and fill the border.

    sizes=((640, 640), (640, 480)), each (height, width), takes for each image the size with the least share of
    padding, the first of equals. It goes by the aspect ratios alone, in whole numbers, so that the rounding of a
    side tips no balance. `transform` holds the source's height and width (as decoded: after EXIF), the resized
    height and width, top and left; `unletterbox` takes boxes back with it. 1 channel stays 1, 3 stay 3.

    Input:      image      uint8[h,w,C]           channels last, C is 1 or 3
    Output:     image      uint8[height,width,C]  with sizes=, uint8[H,W,C] with H and W bound to the sizes
                transform  float32[6]             pixels
    Errors:     SpecError for a size that is missing, given twice or no whole number, or a fill outside 0..255.
    Reference:  Ultralytics 8.4 LetterBox, its defaults (scaled up too; a side is 1 pixel at least)
    Deviation:  none, every byte

    >>> [str(spec) for spec in Letterbox(height=640, width=640).infer(TensorSpec("uint8", ("H", "W", 3)))]
    ['uint8[640,640,3]', 'float32[6]']
    """

    height: int | None = None
    width: int | None = None
    sizes: tuple[tuple[int, int], ...] | None = None
    fill: int = 114

    def infer(self, image: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
        require_pixels(image)
        self._check()
        height: Dim
        width: Dim
        if self.sizes is None:
            ((height, width),) = self._sizes
        else:
            height, width = (Graded(name, sides) for name, sides in zip(("H", "W"), zip(*self.sizes)))
        return TensorSpec("uint8", (height, width, image.shape[2])), TensorSpec("float32", (6,))

    def run(self, image: Array, out: Mapping[str, Array] | None = None) -> tuple[Array, Array]:
        given = out or {}
        height, width = self._sizes[self.gear(image)]
        framed, transform = given.get("image"), given.get("transform")
        if framed is None:
            framed = np.empty((height, width, image.shape[2]), np.uint8)
        assert framed.shape[:2] == (height, width), f"a row of {framed.shape} for {height}x{width}"
        if transform is None:
            transform = np.empty(6, np.float32)
        fit = Fit.of(image.shape[0], image.shape[1], height, width)
        target = inside(framed, fit.top, fit.left, fit.height, fit.width, self.fill)
        opencv_resize(image, cv2.INTER_LINEAR, target)
        transform[:] = (*image.shape[:2], *fit)
        return framed, transform

    def gear(self, image: Array) -> int:
        """The index of the size that this image goes to."""
        return best_size(image.shape[0], image.shape[1], self._sizes)

    @property
    def _sizes(self) -> tuple[tuple[int, int], ...]:
        if self.sizes is not None:
            return self.sizes
        assert self.height is not None
        assert self.width is not None
        return ((self.height, self.width),)

    def _check(self) -> None:
        given = (self.height is not None, self.width is not None, self.sizes is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise SpecError(
                f"height is {self.height}, width is {self.width}, sizes is {self.sizes}",
                fix="give height and width, or sizes alone",
            )
        require_sizes(self.sizes if self.sizes is not None else ((self.height, self.width),))
        require_level("fill", self.fill)


def require_sizes(sizes: Any) -> None:
    """Refuse what is not different pairs of whole numbers, at least one of them."""
    if (
        not isinstance(sizes, tuple)
        or not sizes
        or not all(isinstance(size, tuple) and len(size) == 2 for size in sizes)
    ):
        raise SpecError(f"sizes is {sizes!r}", fix="give pairs of (height, width), as in ((640, 640), (640, 480))")
    for height, width in sizes:
        require_whole("height", height)
        require_whole("width", width)
    if len(set(sizes)) < len(sizes):
        raise SpecError(f"sizes {sizes} holds one size twice", fix="name each size once")


class Fit(NamedTuple):
    """Where an image comes to lie in its frame."""

    height: int
    width: int
    top: int
    left: int

    @classmethod
    def of(cls, source_height: int, source_width: int, height: int, width: int) -> Fit:
        ratio = min(height / source_height, width / source_width)
        resized_height = max(round(source_height * ratio), 1)
        resized_width = max(round(source_width * ratio), 1)
        # The 0.1 is Ultralytics': an odd border is thinner by one at the top and left, whatever round does to halves.
        top = round((height - resized_height) / 2 - 0.1)
        left = round((width - resized_width) / 2 - 0.1)
        return cls(resized_height, resized_width, top, left)


def best_size(source_height: int, source_width: int, sizes: tuple[tuple[int, int], ...]) -> int:
    """The index of the size that such an image fills best, the first of equals.

    Of height x width an image fills min(a, b) / max(a, b), where a = height * source_width, b = width * source_height.
    """
    best, best_part, best_whole = 0, 0, 1
    for index, (height, width) in enumerate(sizes):
        part, whole = sorted((height * source_width, width * source_height))
        if part * best_whole > best_part * whole:
            best, best_part, best_whole = index, part, whole
    return best


def unletterbox(boxes_xyxy: Array, transform: Array) -> Array:
    """Boxes [...,4] of a letterboxed image in pixels of its source; they may reach outside it, nothing is clipped.

    A box is given by its edges: pixel i reaches from i to i + 1. The resize maps centres, i + 0.5 to
    (i + 0.5) * resized / source, and so edges likewise: each axis is a shift and a scale by the transform's own
    whole numbers, with no error but float32's.
    """
    source_height, source_width, height, width, top, left = transform.tolist()
    scale_x, scale_y = source_width / width, source_height / height
    shift = np.array((left, top, left, top), np.float32)
    scale = np.array((scale_x, scale_y, scale_x, scale_y), np.float32)
    result: Array = (boxes_xyxy - shift) * scale
    return result
