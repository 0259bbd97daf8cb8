"""Normalize: pixels to the numbers a network was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

import cv2
import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, require, require_flag


@dataclass(frozen=True)
class Normalize(Op[Edge]):
    """Scale, shift and move channels first: y = (x / 255 - mean) / std.

    swap: take the channels in reverse order, so that BGR becomes RGB; mean and std go by the order that comes out.

    Input:      image  uint8 or float32 [h,w,C]  channels last, 0..255
    Output:     x      float32[C,h,w]            no unit; mean and std are in 0-1 units
    Errors:     SpecError when mean, std and C disagree, a std is 0, one is no finite number, or a mean is above 1.
    Reference:  torchvision ToDtype(scale=True) + Normalize
    Deviation:  1e-6 relative to the float64 formula

    >>> str(Normalize(mean=(0, 0, 0), std=(1, 1, 1)).infer(TensorSpec("uint8", (2, 2, 3))))
    'float32[3,2,2]'
    """

    lowered_within: ClassVar[float | None] = 0.0
    mean: tuple[float, ...]
    std: tuple[float, ...]
    swap: bool = False

    def infer(self, image: TensorSpec) -> TensorSpec:
        require(image, "image", dtype=("uint8", "float32"), rank=3)
        require_flag("swap", self.swap)
        height, width, channels = image.shape
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) != channels:
                has = f"{len(values)} value{'s' if len(values) != 1 else ''}"
                raise SpecError(
                    f"{image}: image has {channels} channels but {name} has {has}",
                    fix="pass one mean and one std per channel",
                    input="image",
                )
        if 0 in self.std:
            raise SpecError(f"std {self.std} holds a 0", fix="divide by something")
        self._check_numbers()
        return TensorSpec("float32", (channels, height, width))

    def run(self, image: Array, out: Array | None = None) -> Array:
        height, width, channels = image.shape
        if out is None:
            out = np.empty((channels, height, width), np.float32)
        scale, shift = self._affine
        np.copyto(out, _planes(image)[:: -1 if self.swap else 1])
        np.multiply(out, scale, out=out)
        if shift is not None:
            np.subtract(out, shift, out=out)
        return out

    def lower(self, g: Builder, image: Value) -> Value:
        scale, shift = self._affine
        x = g.op("Transpose", image, perm=[0, 3, 1, 2])  # and what else moves pixels, while they are small
        if self.swap:
            x = g.op("Gather", x, g.constant(np.arange(len(scale))[::-1]), axis=1)
        if image.spec.dtype != "float32":
            x = g.op("Cast", x, to=1)
        y = g.op("Mul", x, g.constant(scale[None]))
        return y if shift is None else g.op("Sub", y, g.constant(shift[None]))

    def _check_numbers(self) -> None:
        sound = all(isinstance(value, Real) and not isinstance(value, bool) for value in (*self.mean, *self.std))
        if sound:
            with np.errstate(all="ignore"):
                scale, shift = self._affine
            sound = bool(np.isfinite(scale).all() and scale.all() and (shift is None or np.isfinite(shift).all()))
        if not sound:
            raise SpecError(
                f"mean is {self.mean}, std is {self.std}: not numbers that pixels can be scaled by",
                fix="give the training's mean and std as finite numbers in 0-1 units",
            )
        if any(abs(value) > 1 for value in self.mean):
            mean, std = (tuple(round(value / 255, 4) for value in values) for values in (self.mean, self.std))
            raise SpecError(
                f"mean is {self.mean}: a pixel is divided by 255 first, so the mean of one is 1 at most",
                fix=f"give both in 0-1 units: mean={mean}, std={std}",
            )

    @cached_property
    def _affine(self) -> tuple[Array, Array | None]:
        """(x / 255 - mean) / std as x * scale - shift, rounded once to float32, channels first; None for no shift."""
        mean, std = (np.asarray(values, np.float64).reshape(-1, 1, 1) for values in (self.mean, self.std))
        shift = (mean / std).astype(np.float32)
        return (1 / (255 * std)).astype(np.float32), shift if shift.any() else None


def _planes(image: Array) -> Array:
    """Channels first. OpenCV takes three apart several times as fast as numpy walks over them."""
    planes: Array = image.transpose(2, 0, 1)
    if image.shape[2] != 3:
        return planes
    apart = np.empty(planes.shape, image.dtype)
    cv2.split(image, list(apart))
    return apart
