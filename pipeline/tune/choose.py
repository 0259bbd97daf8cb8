"""Choose: what each candidate would do for the traffic, which of them no other beats, and the one to take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ge_engine.gears import pick
from ops import GepipeError

from ..deployment import Batching
from .gears import Histogram, few_gears, split_at
from .host import Host
from .replay import replay
from .search import Measured, Surface
from .space import Manners, Point, Space
from .traffic import Traffic

T = TypeVar("T")
StageGears = Mapping[str, tuple[int, ...]]  # of each device stage
ByStage = Mapping[str, Mapping[int, float]]  # what each takes of a step of each gear
ALL = ""  # the stage that stands for all of them, where they have the same gears

_DELAYS = (0.0, 0.25, 0.5, 1.0)  # of a full step
_ROUND_US = 100
_NEARLY = 0.01  # of the time of all steps: what one gear more has to gain
_AS_GOOD = 0.98  # of the most samples a second: then latency decides


@dataclass(frozen=True)
class Option:
    """Settings, and what they would do for the traffic.

    point: the largest gear, streams and share. per_sec: samples a second with every stream busy, as far as the host
    keeps up. p99_us: of a request, with what the host does to it. batches: what would run, by size.
    """

    point: Point
    gears: StageGears
    max_delay_us: int
    per_sec: float
    p99_us: float
    batches: Histogram

    @property
    def largest(self) -> int:
        """The most rows that run at once."""
        return min(gears[-1] for gears in self.gears.values())


@dataclass(frozen=True)
class Case:
    """What to choose for, among which candidates.

    host: None where it is not known what it does. by_stage: the stages that may have gears of their own.
    """

    space: Space
    traffic: Traffic | None
    most_gears: int
    manners: Manners
    host: Host | None = None
    by_stage: ByStage = field(default_factory=dict)

    def options(self, tried: Mapping[Point, Measured], surface: Surface) -> list[Option]:
        """Of each point that was tried and that no other beats in both rate and time of a step."""
        best = front([(self._per_sec(seen.per_sec, point), seen.p99_us, point) for point, seen in tried.items()])
        return [option for _, _, point in best for option in self._of(point, tried[point], surface)]

    def _of(self, point: Point, seen: Measured, surface: Surface) -> Iterator[Option]:
        step = _Steps(point, surface, self.by_stage)
        host_us = self.host.us if self.host else 0.0
        if self.traffic is None:  # every batch is full; for the others, one sample is as likely as all other sizes
            batches: Histogram = {**dict.fromkeys(range(1, point.gear + 1), 1), 1: max(1, point.gear - 1)}
            per_sec = self._per_sec(seen.per_sec, point)
            yield Option(point, self._gears(batches, step), 0, per_sec, seen.p99_us + host_us, batches)
        elif not self.traffic.arrivals:
            yield self._of_histogram(point, step, self.traffic.histogram, host_us)
        else:
            for share in _DELAYS:
                delay_us = math.ceil(share * step(point.gear, point.streams) / _ROUND_US) * _ROUND_US
                yield self._of_arrivals(step, self.traffic, delay_us)

    def _of_histogram(self, point: Point, step: _Steps, histogram: Histogram, host_us: float) -> Option:
        """Each request is a batch of its own, and all streams are busy."""
        batches = split_at(histogram, point.gear)
        gears = self._gears(batches, step)
        step = step.padded(gears) if self.manners.pads else step
        times = {
            size: sum(step(part, point.streams) * count for part, count in split_at({size: 1}, point.gear).items())
            + size * host_us
            for size in histogram
        }
        return Option(point, gears, 0, self._with_all_busy(batches, step), _percentile(times, histogram), batches)

    def _of_arrivals(self, step: _Steps, traffic: Traffic, delay_us: int) -> Option:
        """As they came, merged by the session's rules; first with every size a gear, to see which are formed."""
        point, arrivals = step.point, traffic.busiest
        of_device = point.streams, Batching(max_delay_us=delay_us), self.manners
        of_host = self.host, point.share
        seen = replay(arrivals, point.gear, *of_device, step, *of_host)
        gears = self._gears(seen.batches, step)
        largest = min(own[-1] for own in gears.values())
        if self.manners.pads or largest < point.gear:
            step = step.padded(gears) if self.manners.pads else step
            seen = replay(arrivals, largest, *of_device, step, *of_host)
        p99_us = float(np.percentile(seen.latencies_s, 99)) * 1e6
        return Option(point, gears, delay_us, self._with_all_busy(seen.batches, step), p99_us, seen.batches)

    def _gears(self, batches: Histogram, step: _Steps) -> StageGears:
        """A gear that seems to be faster than a smaller one is taken to be as fast: that is noise, as a rule."""
        among = [gear for gear in self.space.gears if gear <= step.point.gear]
        found = {}
        for stage in self.by_stage or (ALL,):
            times = itertools.accumulate((step.of_stage(stage, gear, step.point.streams) for gear in among), max)
            found[stage] = few_gears(batches, self.most_gears, dict(zip(among, times)).__getitem__, among, _NEARLY)
        return found

    def _with_all_busy(self, batches: Histogram, step: _Steps) -> float:
        """Samples a second, if such batches kept every stream busy."""
        streams = step.point.streams
        busy_us = sum(step(size, streams) * count for size, count in batches.items())
        samples = sum(size * count for size, count in batches.items())
        return self._per_sec(streams * self.space.lanes * 1e6 * samples / busy_us, step.point)

    def _per_sec(self, of_device: float, point: Point) -> float:
        return self.host.per_sec(of_device, point.streams, point.share) if self.host else of_device


class _Steps:
    """What a step of so many samples takes, in one share of the cores; with gears, padded to one of them."""

    def __init__(self, point: Point, surface: Surface, by_stage: ByStage, gears: StageGears | None = None) -> None:
        self.point = point
        self._surface = surface
        self._by_stage = by_stage
        self._gears = gears
        self._known: dict[tuple[int, int], float] = {}

    def padded(self, gears: StageGears) -> _Steps:
        return _Steps(self.point, self._surface, self._by_stage, gears)

    def __call__(self, rows: int, busy: int) -> float:
        key = rows, busy
        if key not in self._known:
            gears = self._gears or dict.fromkeys(self._by_stage or (ALL,), (rows,))
            self._known[key] = sum(self.of_stage(stage, pick(own, rows), busy) for stage, own in gears.items())
        return self._known[key]

    def of_stage(self, stage: str, rows: int, busy: int) -> float:
        """Its part of a step."""
        step_us = self._surface.step_us(rows, busy, self.point.share)
        if stage == ALL:
            return step_us
        gear = pick(tuple(self._by_stage[stage]), rows)
        return step_us * self._by_stage[stage][gear] / sum(times[gear] for times in self._by_stage.values())


def choose(options: Sequence[Option], limit_us: float = math.inf) -> Option:
    """The most samples a second within the limit; of those nearly as good, the soonest answers, and fewest streams.

    Errors: GepipeError when none is within the limit.
    """
    allowed = [option for option in options if option.p99_us <= limit_us]
    if not allowed:
        best = min(options, key=lambda option: option.p99_us)
        gear, streams, _ = best.point
        raise GepipeError(
            f"p99 is {best.p99_us / 1e3:.3g} ms at least, and {limit_us / 1e3:g} ms are asked for; the soonest answers "
            f"came with gear {gear} and {streams} stream{'s' if streams > 1 else ''}, {best.per_sec:.1f} samples/s",
            fix="allow more, or use fewer rows, a faster device or a smaller model",
        )
    most = max(option.per_sec for option in allowed)
    good = [option for option in allowed if option.per_sec >= _AS_GOOD * most]
    return min(good, key=lambda option: (option.p99_us, option.point.streams))


def pareto(options: Sequence[Option]) -> list[Option]:
    """The options that no other beats in both, from the most samples a second to the soonest answers."""
    return [option for _, _, option in front([(option.per_sec, option.p99_us, option) for option in options])]


def front(rows: Sequence[tuple[float, float, T]]) -> list[tuple[float, float, T]]:
    """The rows of which no other has a larger first and a smaller second value."""
    kept: list[tuple[float, float, T]] = []
    for row in sorted(rows, key=lambda row: (-row[0], row[1])):
        if not kept or row[1] < kept[-1][1]:
            kept.append(row)
    return kept


def _percentile(times: Mapping[int, float], counts: Histogram, percent: float = 99) -> float:
    """The time within which so many of the requests are answered."""
    sizes = sorted(times, key=lambda size: times[size])
    total = sum(counts.values())
    for size, answered in zip(sizes, itertools.accumulate(counts[size] for size in sizes)):
        if 100 * answered >= percent * total:
            return times[size]
    return times[sizes[-1]]
