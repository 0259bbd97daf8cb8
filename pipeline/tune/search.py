"""Search: the best of a grid, while trying a small part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .space import Point, Space
from .surface import Surface

T = TypeVar("T")
MOST = 0.2  # of the grid
_HOPE = 2.0  # standard deviations above what is expected: how much a point may be better than it looks
_LAST = 0.25  # of the tries go to points next to the best
_AGAIN = 3  # points, or a quarter of those that were tried
_GAIN = 1.01  # what is not hoped to be better than that is not tried any more


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

    tried: what was measured. budget: how many may be tried, never more than a fifth of the grid (but one).
    """

    def __init__(self, space: Space, measure: Measure) -> None:
        self.space = space
        self.tried: dict[Point, Measured] = {}
        self._measure = measure
        self.size = len(space.points())
        self.budget = max(1, int(MOST * self.size))

    @property
    def surface(self) -> Surface:
        return Surface(self.space, {point: seen.per_sec for point, seen in self.tried.items()})

    def run(self, limit_us: float = math.inf, spare: int = 0) -> None:
        """Find the most samples a second of the points whose steps take limit_us at most. spare: tries to leave."""
        budget = max(1, self.budget - spare)
        for point in self._first()[:budget]:
            self.try_(point)
        while len(self.tried) < budget:
            hoped = self._next(limit_us, close=budget - len(self.tried) <= _LAST * budget)
            if hoped is None and len(self.tried) >= budget / 2:
                return
            self.try_(hoped or self._unsure())

    def again(self) -> None:
        """Measure the best few once more, in turn: what else the machine did may have slowed one of them."""
        best = sorted(self.tried, key=lambda point: -self.tried[point].per_sec)
        for point in best[: max(_AGAIN, len(best) // 4)]:
            self.tried[point] = better(self.tried[point], self._measure(point))

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

    def _next(self, limit_us: float, close: bool) -> Point | None:
        """The point that may be the best; None where no other is hoped to be better than the best that was seen.

        close: first of those next to the best that was seen, for a smooth surface rounds off its peak.
        """
        untried = [point for point in self.space.points() if point not in self.tried]
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
        in_flight = np.array([point.gear * point.streams * self.space.lanes for point in points])
        steps_us = in_flight * 1e6 / np.exp(mean)
        allowed = steps_us <= limit_us
        if not allowed.any():
            return None if seen else points[int(np.argmin(steps_us))]
        hope = np.where(allowed, mean + _HOPE * deviation, -np.inf)
        most = int(np.argmax(hope))
        return points[most] if not seen or hope[most] > math.log(_GAIN * max(seen.values())) else None

    def _unsure(self) -> Point:
        """The point of which least is known."""
        points = [point for point in self.space.points() if point not in self.tried]
        _, deviation = self.surface.log_per_sec(points)
        return points[int(np.argmax(deviation))]


def _middle(axis: Sequence[T]) -> T:
    return axis[(len(axis) - 1) // 2]
