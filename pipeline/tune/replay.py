"""Replay: requests of a log, merged by the session's own rules, on streams of which only the time is known."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..deployment import Batching
from ..forming import NEVER, Forming, Ticket
from ..group import Group, Sizes
from ..item import Item
from .manners import Manners
from .traffic import Arrival

StepUs = Callable[[int, int], float]  # of so many samples, while so many streams are busy


class Replay(NamedTuple):
    """latencies_s: of each request, till its last sample is answered. batches: how many ran, by their size."""

    latencies_s: Sequence[float]
    batches: Mapping[int, int]


def replay(
    arrivals: Sequence[Arrival], rows: int, streams: int, batching: Batching, manners: Manners, step_us: StepUs
) -> Replay:
    """Host stages take no time here."""
    return _Replay(arrivals, rows, streams, batching, manners, step_us).run()


class _Sample(Item):
    __slots__ = ("request",)

    def __init__(self, request: int) -> None:
        super().__init__({})
        self.request = request


class _Rows:
    """Stands in for a level: rows without memory."""

    graded = False
    alike: Sizes = ()

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def best_rows(self) -> int:
        return self.rows

    def group(self, slot: int, sizes: Sizes) -> Group:
        return Group((), slot, sizes)


class _Replay:
    def __init__(
        self,
        arrivals: Sequence[Arrival],
        rows: int,
        streams: int,
        batching: Batching,
        manners: Manners,
        step_us: StepUs,
    ) -> None:
        lanes = streams * manners.lanes
        ahead = lanes - lanes // manners.in_flight
        self._arrivals = arrivals
        self._forming = Forming(_Rows(rows), range(lanes + 2), lanes, batching, manners.on_host, ahead)
        self._lanes_a_stream = manners.lanes
        self._step_us = step_us
        self._pending: deque[_Sample] = deque()
        self._running: list[tuple[float, int, Group, list[Item]]] = []  # a heap: when, and which run
        self._latencies_s = [0.0] * len(arrivals)
        self._batches: Counter[int] = Counter()
        self._runs = 0

    def run(self) -> Replay:
        came = 0
        while came < len(self._arrivals) or self._running or self._forming.groups:
            arrives = self._arrivals[came].time_s if came < len(self._arrivals) else NEVER
            ends = self._running[0][0] if self._running else NEVER
            now = min(arrives, ends, self._forming.next_time())
            while self._running and self._running[0][0] <= now:
                self._end(now)
            while came < len(self._arrivals) and self._arrivals[came].time_s <= now:
                self._pending.extend(_Sample(came) for _ in range(self._arrivals[came].samples))
                came += 1
            while self._fill(now) or self._start(now):
                pass
        return Replay(self._latencies_s, self._batches)

    def _fill(self, now: float) -> bool:
        """Give rows to what waits. Those that came together are prepared side by side, so none is ready before all."""
        seated: list[tuple[Ticket, _Sample]] = []
        while self._pending and (ticket := self._forming.admit(now)) is not None:
            seated.append((ticket, self._pending.popleft()))
        for ticket, sample in seated:
            self._forming.settle(ticket, sample, now)
        return bool(seated)

    def _start(self, now: float) -> bool:
        group = self._forming.due(bool(self._pending), now)
        if group is None:
            return False
        items = group.take()
        self._runs += 1
        self._batches[len(items)] += 1
        busy = len(self._running) // self._lanes_a_stream + 1
        end = now + self._step_us(len(items), busy) * 1e-6
        heapq.heappush(self._running, (end, self._runs, group, items))
        return True

    def _end(self, now: float) -> None:
        _, _, group, items = heapq.heappop(self._running)
        self._forming.left_device()
        self._forming.end(group)
        for item in items:
            assert isinstance(item, _Sample)
            self._latencies_s[item.request] = now - self._arrivals[item.request].time_s
