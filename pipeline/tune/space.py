"""Space: the grid of settings that are candidates: gears, streams, and each stream's share of the cores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Union

import numpy as np

from ge_engine.cores import usable_cores
from ops import Array

from ..deployment import Deployment
from .manners import Manners

Share = Union[int, str, None]  # threads of a stream on a CPU, "cube|vector" on an NPU; None: what there is

_NPU_STREAMS = 8  # on a card, the backend's documents advise no more


class Point(NamedTuple):
    """Steps of so many rows, on so many streams at once, each with such a share of the cores."""

    gear: int
    streams: int
    share: Share


@dataclass(frozen=True)
class Space:
    """Every combination is a candidate. gears and streams ascend; shares are in order.

    lanes: the batches that are on their way at once, for each stream.
    """

    gears: tuple[int, ...]
    streams: tuple[int, ...]
    shares: tuple[Share, ...] = (None,)
    lanes: int = 1

    @classmethod
    def of(cls, gears: Sequence[int], manners: Manners, cores: Sequence[str] = ()) -> Space:
        """For a device that computes on the host's cores, or has its own. cores: what to try there besides no lock."""
        if not manners.on_host:
            return cls(tuple(gears), tuple(range(1, _NPU_STREAMS + 1)), (None, *cores), manners.lanes)
        count = usable_cores()
        threads = {min(count, 1 << power) for power in range(count.bit_length() + 1)}
        return cls(tuple(gears), ladder(max(4, count)), tuple(sorted(threads)), manners.lanes)

    def points(self) -> list[Point]:
        return [Point(*values) for values in itertools.product(self.gears, self.streams, self.shares)]

    def coordinates(self, points: Sequence[Point]) -> Array:
        """float64[points, 3]: sizes by their logarithm, shares by their place; each from 0 to 1 over the grid."""
        places = {share: place / max(1, len(self.shares) - 1) for place, share in enumerate(self.shares)}
        rows = [(_along(self.gears, p.gear), _along(self.streams, p.streams), places[p.share]) for p in points]
        return np.array(rows, np.float64)

    def are_next(self, one: Point, other: Point) -> bool:
        """Whether they are one step of one setting apart."""
        axes = (self.gears, self.streams, self.shares)
        steps = (axis.index(a) - axis.index(b) for axis, a, b in zip(axes, one, other))
        return sum(map(abs, steps)) == 1


def with_share(settings: Deployment, streams: int, share: Share) -> Deployment:
    """The settings, with so many streams, each with such a share: threads, or a core lock."""
    if share is None:
        return Deployment.of(settings, streams=streams)
    return Deployment.of(settings, streams=streams, **{"threads" if isinstance(share, int) else "cores": share})


def ladder(largest: int) -> tuple[int, ...]:
    """Sizes in steps of a half at most, up to and with the largest.

    >>> ladder(16)
    (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
    """
    steps = {part << power for power in range(largest.bit_length()) for part in (1, 2, 3, 5)}
    return tuple(sorted({size for size in steps if size < largest} | {largest}))


def _along(axis: Sequence[int], value: int) -> float:
    return math.log(value / axis[0]) / math.log(axis[-1] / axis[0]) if axis[-1] > axis[0] else 0.0
