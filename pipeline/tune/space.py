"""Space: the grid of settings that are candidates: gears, streams, and each stream's share of the cores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Union

import numpy as np

from ge_engine.cores import usable_cores
from ge_engine.devices import Device
from ops import Array

from ..deployment import Deployment

Share = Union[int, str, None]  # threads of a stream on a CPU, "cube|vector" on an NPU; None: what there is

NPU_STREAMS = 8  # on a card, the backend's documents advise no more
_PARTS = (0.75, 0.5)  # of a chip's cores, as locks to try
# Cube and vector cores, as CANN's platform_config has them. The vector part of a lock is ignored where there is one
# kind of core.
_CUBE_VECTOR = {
    "Ascend910B1": (24, 48),
    "Ascend910B2": (24, 48),
    "Ascend910B3": (20, 40),
    "Ascend910B4": (20, 40),
    "Ascend950PR": (32, 64),
}
_ONE_KIND = {"Ascend310P1": 10, "Ascend310P3": 8}


@dataclass(frozen=True)
class Manners:
    """What a Device says of itself that decides how batches are merged and run on it.

    pads: it runs whole gears only. on_host: it computes on the host's cores. in_flight: batches at once for a stream.
    """

    pads: bool
    on_host: bool
    cards: int = 1
    in_flight: int = 1

    @classmethod
    def of(cls, device: Device) -> Manners:
        return cls(device.pads, device.on_host, device.cards, device.in_flight)

    @property
    def lanes(self) -> int:
        """For each stream of the deployment, the batches that are on their way at once, on all cards."""
        return self.cards * self.in_flight


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
    def of(
        cls, gears: Sequence[int], manners: Manners, locks: Sequence[str] = (), most_streams: int | None = None
    ) -> Space:
        """For a device that computes on the host's cores, or has its own. locks: what to try there besides none."""
        if not manners.on_host:
            streams = ladder(most_streams or NPU_STREAMS, fine=NPU_STREAMS)
            return cls(tuple(gears), streams, (None, *locks), manners.lanes)
        count = usable_cores()
        threads = {min(count, 1 << power) for power in range(count.bit_length() + 1)}
        return cls(tuple(gears), ladder(most_streams or max(4, count)), tuple(sorted(threads)), manners.lanes)

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


def part_locks(chip: str) -> tuple[str, ...]:
    """Core locks to try on a chip: three quarters and half of its cores; none for a chip whose cores are not known.

    >>> part_locks("Ascend910B2"), part_locks("Ascend310P3")
    (('18|36', '12|24'), ('6|', '4|'))
    """
    if chip in _ONE_KIND:
        return tuple(f"{int(part * _ONE_KIND[chip])}|" for part in _PARTS)
    cube, vector = _CUBE_VECTOR.get(chip, (0, 0))
    return tuple(f"{int(part * cube)}|{int(part * vector)}" for part in _PARTS) if cube else ()


def ladder(largest: int, fine: int = 6) -> tuple[int, ...]:
    """Sizes in steps of a half at most, up to and with the largest; up to `fine` each of them.

    >>> ladder(16)
    (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
    """
    steps = {part << power for power in range(largest.bit_length()) for part in (1, 2, 3, 5)} | set(range(1, fine + 1))
    return tuple(sorted({size for size in steps if size < largest} | {largest}))


def _along(axis: Sequence[int], value: int) -> float:
    return math.log(value / axis[0]) / math.log(axis[-1] / axis[0]) if axis[-1] > axis[0] else 0.0
