"""Replay: a log, merged by the session's own rules, on streams and cores of which only the time is known."""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..deployment import Batching
from ..forming import NEVER, Forming, Ticket
from ..group import Group, Sizes
from ..item import Item
from .host import Host
from .space import Manners, Share
from .traffic import Arrival

StepUs = Callable[[int, int], float]  # of so many samples, while so many streams are busy

_Event = tuple[float, int, Callable[[float], None]]  # when, which one, what happens


class Replay(NamedTuple):
    """latencies_s: of each request, till its last sample is answered. batches: how many ran, by their size."""

    latencies_s: Sequence[float]
    batches: Mapping[int, int]


def replay(
    arrivals: Sequence[Arrival],
    rows: int,
    streams: int,
    batching: Batching,
    manners: Manners,
    step_us: StepUs,
    host: Host | None = None,
    share: Share = None,
) -> Replay:
    """host: what a sample takes of its cores; None: nothing. share: of a stream, where the device computes on them."""
    return _Replay(arrivals, rows, streams, batching, manners, step_us, host, share).run()


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
    """What the workers of a Scheduler do, in their order: answer, run what is due, prepare a sample."""

    def __init__(
        self,
        arrivals: Sequence[Arrival],
        rows: int,
        streams: int,
        batching: Batching,
        manners: Manners,
        step_us: StepUs,
        host: Host | None,
        share: Share,
    ) -> None:
        lanes = streams * manners.lanes
        ahead = lanes - lanes // manners.in_flight
        self._arrivals = arrivals
        self._forming = Forming(_Rows(rows), range(lanes + 2), lanes, batching, manners.on_host, ahead)
        self._lanes_a_stream = manners.lanes
        self._step_us = step_us
        self._idle: float = host.cores if host else math.inf
        self._before_s, self._after_s = (host.before_us * 1e-6, host.after_us * 1e-6) if host else (0.0, 0.0)
        self._cores_of_step = host.cores_of(1, share) if host else 0
        self._pending: deque[_Sample] = deque()
        self._unanswered: deque[tuple[Group, list[Item]]] = deque()
        self._events: list[_Event] = []  # a heap
        self._running = 0
        self._latencies_s = [0.0] * len(arrivals)
        self._batches: Counter[int] = Counter()
        self._number = 0

    def run(self) -> Replay:
        came, now = 0, -NEVER
        while came < len(self._arrivals) or self._events or self._forming.groups:
            arrives = self._arrivals[came].time_s if came < len(self._arrivals) else NEVER
            due = self._forming.next_time()
            now = min(arrives, self._events[0][0] if self._events else NEVER, due if due > now else NEVER)
            assert now < NEVER
            while self._events and self._events[0][0] <= now:
                heapq.heappop(self._events)[2](now)
            while came < len(self._arrivals) and self._arrivals[came].time_s <= now:
                self._pending.extend(_Sample(came) for _ in range(self._arrivals[came].samples))
                came += 1
            while self._turn(now):
                pass
        return Replay(self._latencies_s, self._batches)

    def _turn(self, now: float) -> bool:
        """Whether a worker finds something to do."""
        if self._unanswered and self._idle:
            group, items = self._unanswered.popleft()
            self._work(now, 1, self._after_s * len(items), partial(self._answered, group, items))
            return True
        if self._idle or not self._cores_of_step:
            group_due = self._forming.due(bool(self._pending), now)
            if group_due is not None:
                self._run_group(group_due, now)
                return True
        if self._pending and self._idle:
            ticket = self._forming.admit(now)
            if ticket is not None:
                self._work(now, 1, self._before_s, partial(self._prepared, ticket, self._pending.popleft()))
                return True
        return False

    def _run_group(self, group: Group, now: float) -> None:
        items = group.take()
        self._batches[len(items)] += 1
        busy = self._running // self._lanes_a_stream + 1
        self._running += 1
        step_s = self._step_us(len(items), busy) * 1e-6
        self._work(now, min(self._cores_of_step, self._idle), step_s, partial(self._ran, group, items))

    def _work(self, now: float, cores: float, seconds: float, then: Callable[[float], None]) -> None:
        self._idle -= cores
        self._number += 1
        event: _Event = (now + seconds, self._number, partial(self._done, cores, then))
        heapq.heappush(self._events, event)

    def _done(self, cores: float, then: Callable[[float], None], now: float) -> None:
        self._idle += cores
        then(now)

    def _prepared(self, ticket: Ticket, sample: _Sample, now: float) -> None:
        self._forming.settle(ticket, sample, now)

    def _ran(self, group: Group, items: list[Item], now: float) -> None:
        self._running -= 1
        self._forming.left_device()
        self._unanswered.append((group, items))

    def _answered(self, group: Group, items: list[Item], now: float) -> None:
        self._forming.end(group)
        for item in items:
            assert isinstance(item, _Sample)
            self._latencies_s[item.request] = now - self._arrivals[item.request].time_s
