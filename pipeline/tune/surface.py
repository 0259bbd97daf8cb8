"""Surface: what the candidates that were not tried would do, from those that were, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ops import Array

from .space import Point, Share, Space

_SCALES = (0.35, 0.7, 1.4)  # of the grid's length: how far what is seen at one point says something about another
_NOISE = 1e-3  # of the variance


class Surface:
    """A Gaussian process over the logarithm of samples a second: a plane, and what deviates from it smoothly.

    Of the scales, the one under which the measurements are likeliest.
    """

    def __init__(self, space: Space, per_sec: Mapping[Point, float]) -> None:
        self.space = space
        self._at = space.coordinates(list(per_sec))
        values = np.log(list(per_sec.values()))
        self._mean, self._spread = values.mean(), values.std() + 1e-3
        fits = (_Fit.of(self._at, (values - self._mean) / self._spread, scale) for scale in _SCALES)
        self._fit = max(fits, key=lambda fit: fit.likelihood)

    def log_per_sec(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Mean and standard deviation, for each point."""
        mean, deviation = self._fit.predict(self._at, self.space.coordinates(points))
        return mean * self._spread + self._mean, deviation * self._spread

    def step_us(self, rows: int, busy: int, share: Share) -> float:
        """A step, while so many streams are busy: any numbers, also between the candidates."""
        mean, _ = self.log_per_sec([Point(rows, busy, share)])
        return float(rows * busy * self.space.lanes * 1e6 / np.exp(mean[0]))


class _Fit:
    def __init__(self, scale: float, lower: Array, weights: Array, likelihood: float) -> None:
        self.scale, self.lower, self.weights, self.likelihood = scale, lower, weights, likelihood

    @classmethod
    def of(cls, at: Array, values: Array, scale: float) -> _Fit:
        lower = np.linalg.cholesky(_kernel(at, at, scale) + _NOISE * np.eye(len(at)))
        weights = np.linalg.solve(lower.T, np.linalg.solve(lower, values))
        return cls(scale, lower, weights, float(-0.5 * values @ weights - np.log(np.diag(lower)).sum()))

    def predict(self, at: Array, wanted: Array) -> tuple[Array, Array]:
        cross = _kernel(at, wanted, self.scale)
        known = np.linalg.solve(self.lower, cross)
        variance = (wanted * wanted).sum(1) + 1 - (known * known).sum(0)
        return cross.T @ self.weights, np.sqrt(np.maximum(variance, 1e-12))


def _kernel(a: Array, b: Array, scale: float) -> Array:
    distances = ((a[:, None] - b[None]) ** 2).sum(-1)
    kernel: Array = a @ b.T + np.exp(-0.5 * distances / scale**2)
    return kernel
