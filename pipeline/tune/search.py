"""Search: the best of a grid, while trying a small part of it: by a surface through what was tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ops import Array

from .space import Point, Share, Space

T = TypeVar("T")
MOST = 0.2  # of the grid
_LEAST = 4  # points, however small the grid: with fewer, nothing is compared
_HOPE = 2.0  # standard deviations above what is expected: how much a point may be better than it looks
_LAST = 0.25  # of the tries go to points next to the best
_AGAIN = 3  # points, or a quarter of those that were tried
_GAIN = 1.01  # what is not hoped to be better than that is not tried any more
_SCALES = (0.35, 0.7, 1.4)  # of the grid's length: how far what is seen at one point says something about another
_NOISE = 1e-3  # of the variance


@dataclass(frozen=True)
class Measured:
    """Samples a second with all streams busy, and the 99th percentile of a step's time."""

    per_sec: float
    p99_us: float


def better(one: Measured, other: Measured) -> Measured:
    """Of two measurements of the same: nothing makes a device faster than it is, and much makes it slower."""
    return Measured(max(one.per_sec, other.per_sec), min(one.p99_us, other.p99_us))


Measure = Callable[[Point], Measured]


class Search:
    """Tries the points that may be the best, by what is known so far.

    tried: what was measured. budget: how many may be tried, a fifth of the grid (but four at least).
    enough: samples a second that something else allows at most: of the points that do so many, the soonest is sought.
    unsteadiness: of two measurements of the same, how many times as fast the one was.
    """

    def __init__(self, space: Space, measure: Measure, enough: float = math.inf) -> None:
        self.space = space
        self.enough = enough
        self.tried: dict[Point, Measured] = {}
        self.unsteadiness = 1.0
        self._measure = measure
        self.size = len(space.points())
        self.budget = max(min(_LEAST, self.size), int(MOST * self.size))

    @property
    def surface(self) -> Surface:
        return Surface(self.space, {point: seen.per_sec for point, seen in self.tried.items()})

    def run(self, limit_us: float = math.inf, spare: int = 0) -> None:
        """Find the most samples a second of the points whose steps take limit_us at most. spare: tries to leave."""
        budget = max(1, self.budget - spare)
        for point in self._first()[:budget]:
            self.try_(point)
        while len(self.tried) < budget:
            if self._are_enough(limit_us):
                hoped = self._sooner()
                if hoped is None:
                    return
            else:
                hoped = self._next(limit_us, close=budget - len(self.tried) <= _LAST * budget)
                if hoped is None and len(self.tried) >= budget / 2:
                    return
            self.try_(hoped or self._unsure())

    def again(self) -> None:
        """Measure the best few once more, in turn: what else the machine did may have slowed one of them."""
        best = sorted(self.tried, key=lambda point: -self.tried[point].per_sec)
        for point in best[: max(_AGAIN, len(best) // 4)]:
            before, now = self.tried[point], self._measure(point)
            self.unsteadiness = max(self.unsteadiness, before.per_sec / now.per_sec, now.per_sec / before.per_sec)
            self.tried[point] = better(before, now)

    def try_(self, point: Point) -> bool:
        """Measure a point, if it is one of the grid that may still be tried; whether it is measured now."""
        if point not in self.tried and len(self.tried) < self.budget and point in self.space.points():
            self.tried[point] = self._measure(point)
        return point in self.tried

    def _first(self) -> list[Point]:
        """Three corners and the middle: the least from which all axes can be told apart."""
        gears, streams, shares = self.space.gears, self.space.streams, self.space.shares
        middle = Point(_middle(gears), _middle(streams), _middle(shares))
        corners = Point(gears[-1], streams[-1], shares[0]), Point(gears[-1], streams[0], shares[-1])
        return list(dict.fromkeys([*corners, middle, Point(gears[0], streams[-1], shares[-1])]))

    def _are_enough(self, limit_us: float) -> bool:
        return any(seen.per_sec >= self.enough and seen.p99_us <= limit_us for seen in self.tried.values())

    def _sooner(self) -> Point | None:
        """The point with the shortest steps of those that may be enough, too; None where none is shorter."""
        shortest = min(seen.p99_us for seen in self.tried.values() if seen.per_sec >= self.enough)
        points = self._untried()
        if not points:
            return None
        mean, deviation = self.surface.log_per_sec(points)
        may_be = mean + deviation >= math.log(self.enough)
        steps_us = np.where(may_be, self._steps_us(points, mean), np.inf)
        least = int(np.argmin(steps_us))
        return points[least] if steps_us[least] * _GAIN < shortest else None

    def _next(self, limit_us: float, close: bool) -> Point | None:
        """The point that may be the best; None where no other is hoped to be better than the best that was seen.

        close: first of those next to the best that was seen, for a smooth surface rounds off its peak.
        """
        untried = self._untried()
        seen = {point: seen.per_sec for point, seen in self.tried.items() if seen.p99_us <= limit_us}
        if close and seen:
            best = max(seen, key=lambda point: seen[point])
            beside = self._hoped([point for point in untried if self.space.are_next(point, best)], seen, limit_us)
            if beside is not None:
                return beside
        return self._hoped(untried, seen, limit_us)

    def _hoped(self, points: Sequence[Point], seen: Mapping[Point, float], limit_us: float) -> Point | None:
        if not points:
            return None
        mean, deviation = self.surface.log_per_sec(points)
        steps_us = self._steps_us(points, mean)
        allowed = steps_us <= limit_us
        if not allowed.any():
            return None if seen else points[int(np.argmin(steps_us))]
        hope = np.where(allowed, mean + _HOPE * deviation, -np.inf)
        most = int(np.argmax(hope))
        return points[most] if not seen or hope[most] > math.log(_GAIN * max(seen.values())) else None

    def _unsure(self) -> Point:
        """The point of which least is known."""
        points = self._untried()
        _, deviation = self.surface.log_per_sec(points)
        return points[int(np.argmax(deviation))]

    def _untried(self) -> list[Point]:
        return [point for point in self.space.points() if point not in self.tried]

    def _steps_us(self, points: Sequence[Point], log_per_sec: Array) -> Array:
        in_flight = np.array([point.gear * point.streams * self.space.lanes for point in points])
        steps_us: Array = in_flight * 1e6 / np.exp(log_per_sec)
        return steps_us


def _middle(axis: Sequence[T]) -> T:
    return axis[(len(axis) - 1) // 2]


class Surface:
    """What any point would do, from those that were tried, and how sure that is.

    A Gaussian process over the logarithm of samples a second: a plane, and what deviates from it smoothly.

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
