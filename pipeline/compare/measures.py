"""Measures: how far one tensor is from another, added up over samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ops import Array

LARGEST = 65504.0  # of fp16
VANISHES = 2.0**-25  # up to here fp16 is 0
_PIECE = 1 << 13  # values that are measured at once: they stay in a cache, and are too few for BLAS to start threads
_ALMOST_ZERO = 1e-7  # keeps a relative error finite


@dataclass(frozen=True)
class Measure:
    """Of the values that are finite on both sides: all but the counts.

    cosine: CosineSimilarity, 1.0 where both are zero. distance: RelativeEuclideanDistance, |a - b| / |a|. accumulated:
    AccumulatedRelativeError, sum |a - b| / sum |a|. relative errors: to |a| + 1e-7.
    overflow: values that are beyond fp16, or finite on the first side only. underflow: of the first side, those that
    fp16 makes 0. broken: finite on one side only, or on neither and not the same: an infinity that became none.
    """

    count: int
    cosine: float
    distance: float
    max_abs: float
    mean_abs: float
    rmse: float
    max_relative: float
    mean_relative: float
    accumulated: float
    overflow: int
    underflow: int
    broken: int

    def __str__(self) -> str:
        broken = f", {self.broken} values not finite alike" if self.broken else ""
        return f"cosine {self.cosine:.6f}, distance {self.distance:.3g}{broken}"


class Sums:
    """Pairs of tensors, added one by one: only sums are kept."""

    def __init__(self) -> None:
        self._count = self._overflow = self._underflow = self._broken = 0
        self._ab = self._aa = self._bb = self._squares = 0.0
        self._differences = self._magnitudes = self._relative = 0.0
        self._max_abs = self._max_relative = 0.0

    def add(self, wanted: Array, got: Array) -> None:
        """Both of one shape; in float64 piece by piece, so that a large tensor is not held many times over."""
        one, other = np.ravel(wanted), np.ravel(got)
        for start in range(0, one.size, _PIECE):
            piece = slice(start, start + _PIECE)
            self._add(one[piece].astype(np.float64), other[piece].astype(np.float64))

    def _add(self, a: Array, b: Array) -> None:
        whole_a, whole_b = np.isfinite(a), np.isfinite(b)
        size = np.abs(a)
        self._overflow += int((((size > LARGEST) & whole_a) | (whole_a & ~whole_b)).sum())
        self._underflow += int(((size <= VANISHES) & (a != 0)).sum())
        both = whole_a & whole_b
        if not both.all():
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            self._broken += int((~both & ~same).sum())
            a, b, size = a[both], b[both], size[both]
        if not a.size:
            return
        difference = np.abs(a - b)
        relative = difference / (size + _ALMOST_ZERO)
        self._count += a.size
        self._ab += float(a @ b)
        self._aa += float(a @ a)
        self._bb += float(b @ b)
        self._squares += float(difference @ difference)
        self._differences += float(difference.sum())
        self._magnitudes += float(size.sum())
        self._relative += float(relative.sum())
        self._max_abs = max(self._max_abs, float(difference.max()))
        self._max_relative = max(self._max_relative, float(relative.max()))

    def measure(self) -> Measure:
        count = max(1, self._count)
        return Measure(
            self._count,
            self._cosine(),
            _ratio(math.sqrt(self._squares), math.sqrt(self._aa)),
            self._max_abs,
            self._differences / count,
            math.sqrt(self._squares / count),
            self._max_relative,
            self._relative / count,
            _ratio(self._differences, self._magnitudes),
            self._overflow,
            self._underflow,
            self._broken,
        )

    def _cosine(self) -> float:
        if self._squares == 0 or 0 in (self._aa, self._bb):  # the same, which a quotient would miss by a bit; or zeros
            return float(self._squares == 0)
        return max(-1.0, min(1.0, self._ab / math.sqrt(self._aa) / math.sqrt(self._bb)))


def _ratio(part: float, whole: float) -> float:
    if part == 0:
        return 0.0
    return part / whole if whole else math.inf


def top_k_agreement(wanted: Array, got: Array, k: int) -> float:
    """The share of the k largest of each row that are among the k largest of the other's row too.

    >>> top_k_agreement(np.float32([[1, 2, 3, 4]]), np.float32([[4, 2, 3, 1]]), 2)
    0.5
    """
    rows = [np.argsort(-np.asarray(array, np.float64), axis=-1, kind="stable")[..., :k] for array in (wanted, got)]
    first, second = (array.reshape(-1, k) for array in rows)
    shared = [len(set(a) & set(b)) for a, b in zip(first.tolist(), second.tolist())]
    return sum(shared) / (k * len(shared)) if shared else 1.0
