"""Normalize: pixels to the numbers a network was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, require


@dataclass(frozen=True)
class Normalize(Op[Edge]):
    """Scale, shift and move channels first: y = (x / 255 - mean) / std.

    Input:      image  uint8[h,w,C]    channels last, 0..255
    Output:     x      float32[C,h,w]  no unit; mean and std are in 0-1 units
    Errors:     SpecError when mean, std and C disagree, a std is 0, or one is no finite number.
    Reference:  torchvision ToDtype(scale=True) + Normalize
    Deviation:  1e-6 relative to the float64 formula

    >>> str(Normalize(mean=(0, 0, 0), std=(1, 1, 1)).infer(TensorSpec("uint8", (2, 2, 3))))
    'float32[3,2,2]'
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def infer(self, image: TensorSpec) -> TensorSpec:
        require(image, "image", dtype=("uint8",), rank=3)
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
        channels = image.shape[2]
        if out is None:
            out = np.empty((channels, *image.shape[:2]), np.float32)
        scale, shift = self._affine()
        np.multiply(image.transpose(2, 0, 1), scale.reshape(-1, 1, 1), out=out, dtype=np.float32)
        if shift.any():
            np.subtract(out, shift.reshape(-1, 1, 1), out=out)
        return out

    def lower(self, g: Builder, image: Value) -> Value:
        scale, shift = self._affine()
        x = g.op("Cast", g.op("Transpose", image, perm=[0, 3, 1, 2]), to=1)
        y = g.op("Mul", x, g.constant(scale.reshape(1, -1, 1, 1)))
        return g.op("Sub", y, g.constant(shift.reshape(1, -1, 1, 1))) if shift.any() else y

    def _check_numbers(self) -> None:
        sound = all(isinstance(value, Real) and not isinstance(value, bool) for value in (*self.mean, *self.std))
        if sound:
            with np.errstate(all="ignore"):
                scale, shift = self._affine()
            sound = bool(np.isfinite(scale).all() and scale.all() and np.isfinite(shift).all())
        if not sound:
            raise SpecError(
                f"mean is {self.mean}, std is {self.std}: not numbers that pixels can be scaled by",
                fix="give the training's mean and std as finite numbers in 0-1 units",
            )

    def _affine(self) -> tuple[Array, Array]:
        """(x / 255 - mean) / std as x * scale - shift, rounded once to float32."""
        std = np.asarray(self.std, np.float64)
        return (1 / (255 * std)).astype(np.float32), (np.asarray(self.mean, np.float64) / std).astype(np.float32)
