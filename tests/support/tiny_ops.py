"""Ops as a user writes them, in a module that can travel with an export."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ops import Array, Counted, Edge, Graded, Op, SpecError, TensorSpec


@dataclass(frozen=True)
class Scale(Op[Edge]):
    """A user's own op: y = x * factor, written in place where it is told to."""

    factor: float = 1.0

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dtype != "float32":
            raise SpecError(f"{x}: not float32", fix="cast it", input="x")
        return x

    def run(self, x: Array, out: Array | None = None) -> Array:
        return np.multiply(x, np.float32(self.factor), out=out)


@dataclass(frozen=True)
class Picky(Op[Edge]):
    """A user's own op that does not take every sample."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        if x.min() < -100:
            raise ValueError("too small")
        return x + 1


@dataclass(frozen=True)
class Halfway(Op[Edge]):
    """A user's own op that fails on some samples when it has written half of its row."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array, out: Array | None = None) -> Array:
        made = np.empty_like(x) if out is None else out
        made[: len(x) // 2] = np.nan
        if x.min() < -100:
            raise ValueError("too small")
        made[:] = x
        return made


@dataclass(frozen=True)
class Above(Op[Edge]):
    """A user's own op with a number of results that varies: the values above `least`, at most `limit`."""

    limit: int
    least: float = 0.0

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec("float32", (Counted("detections", self.limit),))

    def run(self, x: Array) -> Array:
        return x[x > self.least][: self.limit]


@dataclass(frozen=True)
class Length(Op[Edge]):
    """A user's own op on bytes: how many there are."""

    def infer(self, text: TensorSpec) -> TensorSpec:
        return TensorSpec("int32", (1,))

    def run(self, text: bytes) -> Array:
        return np.array([len(text)], np.int32)


@dataclass(frozen=True)
class Same(Op[Edge]):
    """A user's own op that hands on what it is given."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        return x


@dataclass(frozen=True)
class Columns(Op[Edge]):
    """A user's own op whose output has one of the sizes of its input: the number of each column of a picture."""

    def infer(self, image: TensorSpec) -> TensorSpec:
        return TensorSpec("int64", (image.shape[1],))

    def run(self, image: Array) -> Array:
        return np.arange(image.shape[1])


@dataclass(frozen=True)
class Resized(Op[Edge]):
    """A user's own op that emits sizes: the picture cut to the largest of them that fits."""

    sizes: tuple[tuple[int, int], ...]

    def infer(self, image: TensorSpec) -> TensorSpec:
        heights, widths = zip(*self.sizes)
        return TensorSpec("uint8", (Graded("H", heights), Graded("W", widths), 3))

    def run(self, image: Array) -> Array:
        height, width = next(size for size in self.sizes if size[0] <= image.shape[0] and size[1] <= image.shape[1])
        return np.ascontiguousarray(image[:height, :width])
