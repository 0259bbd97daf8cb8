"""Steps: measures what the device stages of a plan do, in steps of so many rows on so many streams at once."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from time import perf_counter

import numpy as np

from ge_engine.devices import Device
from ge_engine.engine import Engine
from ge_engine.gears import pick
from ge_engine.pool import Pool

from ..deployment import Deployment
from ..plan import Plan
from ..runner import Runner
from .search import Measured, better
from .space import Point, Share, with_share

Open = Callable[[Deployment], Device]
Clock = Callable[[], float]
_WINDOWS = 2  # of which the better counts
_LEAST_STEPS = 2  # of each stream in a window; one, where it takes longer than the window


class Steps:
    """A measure for the search. One share of the cores is open at a time, for the most streams.

    plan: built for all gears that are to be measured. seconds: how long one point is measured, at least.
    clock: in seconds, on each thread.
    """

    def __init__(self, plan: Plan, most_streams: int, seconds: float, open_: Open, clock: Clock = perf_counter) -> None:
        self._plan = plan
        self._most_streams = most_streams
        self._open = open_
        self._window_s = seconds / _WINDOWS
        self._clock = clock
        self._loaded: tuple[Share, _Loaded] | None = None

    def __call__(self, point: Point) -> Measured:
        """Errors: DeviceError."""
        loaded = self._load(point.share)
        lanes = loaded.lanes(point.streams)
        seen = self._window(loaded, lanes, point.gear)
        if seen.p99_us * 1e-6 > self._window_s:
            return seen  # what takes so long is not disturbed as easily
        again = (self._window(loaded, lanes, point.gear) for _ in range(_WINDOWS - 1))
        return reduce(better, again, seen)

    def _window(self, loaded: _Loaded, lanes: Sequence[int], rows: int) -> Measured:
        """All lanes step side by side, till each has for so long; none stops before, so that all see the same load."""
        together = threading.Barrier(len(lanes))
        unfinished = set(lanes)

        def work(lane: int) -> list[float]:
            times: list[float] = []
            try:
                together.wait()
                loaded.step(lane, rows)  # while others begin; the first of all makes the buffers, too
                begin = last = self._clock()
                while unfinished:
                    loaded.step(lane, rows)
                    times.append(self._clock() - last)
                    last += times[-1]
                    if last >= begin + self._window_s and (len(times) >= _LEAST_STEPS or times[-1] > self._window_s):
                        unfinished.discard(lane)
            except BaseException:
                unfinished.clear()  # so that the others end, too
                raise
            return times

        with ThreadPoolExecutor(len(lanes)) as pool:
            times = list(pool.map(work, lanes))
        per_sec = sum(rows * len(mine) / sum(mine) for mine in times)
        return Measured(per_sec, float(np.percentile([time for mine in times for time in mine], 99)) * 1e6)

    def by_stage(self, gears: Sequence[int], share: Share) -> dict[str, dict[int, float]]:
        """What each device stage takes of a step of each gear, in microseconds, one after the other on one stream.

        Errors: DeviceError.
        """
        return self._load(share).by_stage(gears)

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def _load(self, share: Share) -> _Loaded:
        if self._loaded is None or self._loaded[0] != share:
            self._close()
            settings = with_share(self._plan.deployment, self._most_streams, share)
            plan = dataclasses.replace(self._plan, deployment=settings)
            self._loaded = share, _Loaded(plan, self._open(settings))
        return self._loaded[1]

    def _close(self) -> None:
        if self._loaded is not None:
            loaded, self._loaded = self._loaded[1], None
            loaded.close()


class _Loaded:
    """The device stages of a plan on a device: a set of buffers for each batch that is on its way at once, a lane."""

    def __init__(self, plan: Plan, device: Device) -> None:
        self._device = device
        try:
            count = plan.deployment.streams * device.cards * device.in_flight
            self._streams = [device.stream(index) for index in range(count)]
            self._runner = Runner(plan, device, count, Pool(self._streams))
        except BaseException:
            device.close()  # with all that it has loaded
            raise

    def lanes(self, streams: int) -> list[int]:
        """Those of so many streams of each card."""
        numbers: dict[tuple[Hashable, ...], dict[Hashable, int]] = {}  # by card: its streams, as they come
        lanes = []
        for lane, stream in enumerate(self._streams):
            *card, queue = stream.shares or (lane,)
            of_card = numbers.setdefault(tuple(card), {})
            if of_card.setdefault(queue, len(of_card)) < streams:
                lanes.append(lane)
        return lanes

    def step(self, lane: int, rows: int) -> None:
        """All device stages, on so many rows of zeros; where a stage takes sizes, on the largest."""
        stream = self._streams[lane]
        for level in self._runner.levels:
            for part in level.split(rows) if level.engines else ():
                for engine in level.engines:
                    engine.enqueue(lane, part, stream, _largest(engine))
                stream.synchronize()

    def by_stage(self, gears: Sequence[int]) -> dict[str, dict[int, float]]:
        found: dict[str, dict[int, float]] = {}
        for level in self._runner.levels:
            for engine in level.engines:
                costs = engine.measure_us(self._streams[0])
                whole = {gear: divmod(gear, engine.rows) for gear in gears}
                found[engine.stage.graph.name] = {
                    gear: times * costs[engine.batches[-1]] + (costs[pick(engine.batches, rest)] if rest else 0.0)
                    for gear, (times, rest) in whole.items()
                }
        return found

    def close(self) -> None:
        self._runner.close()
        self._device.close()


def _largest(engine: Engine) -> int:
    return max(range(len(engine.sizes)), key=lambda index: math.prod(value for _, value in engine.sizes[index].dims))
