"""Lane: the way of one batch to the card and back. Two lanes take turns at one queue.

The queue's stream computes; each lane has a stream of its own that copies. While the batch of one lane computes, that
of the other is copied in or out, and a third is prepared on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from time import perf_counter as clock
from typing import NamedTuple

from ops import DeviceError

from ..base import Watch
from .moments import Part, tell
from .queue import Queue
from .stream import CardStream

_UNDO = "rt.destroy_event"


class Work(NamedTuple):
    """One stage's part of a batch: each puts it on the stream that it is given. what: for errors."""

    what: str
    copy_in: Callable[[int], None]
    compute: Callable[[int], None]
    copy_out: Callable[[int], None]


class Lane:
    """What a session takes as a stream: one batch at a time, of one or several stages, on a queue of a card.

    shares: what it has in common with other lanes, the widest first.
    """

    def __init__(self, queue: Queue, index: int) -> None:
        self.watch: Watch | None = None
        self.index = index
        self.card = queue.card
        self.queue = queue
        self.shares: tuple[Hashable, ...] = (queue.card.number, queue.index)
        self._copies = CardStream(queue.card)
        self._events: list[int] = []
        self._work: list[Work] = []
        self._parts: list[Part] = []
        self._put_at = 0.0
        self._computes = 0  # the stream that does
        self._copying = False

    def enqueue(self, work: Work) -> None:
        """Copy in, and compute behind that; copy out in `synchronize`, for other stages' inputs go first.

        Errors: DeviceError; then the lane is empty.
        """
        try:
            with self.card.current():
                self._begin(work)
        except BaseException:
            self._abandon()
            raise
        self._work.append(work)

    def synchronize(self) -> None:
        """Wait until everything has computed, and the answers are in the host's memory.

        Errors: DeviceError naming the stages; then the lane is empty, and usable again.
        """
        if not self._copying:
            return
        what = " and ".join(work.what for work in self._work)
        try:
            with self.card.current():
                self._finish()
        except DeviceError as error:
            self._abandon()
            raise error.at(f"{what}, stream {self.index} of {self.card.name}")  # noqa: B904
        except BaseException:
            self._abandon()
            raise

    def _begin(self, work: Work) -> None:
        if not self._copying:
            self.queue.ready()  # what is stuck there may use what is copied to
            self._copies.ready()
            self._copying, self._put_at = True, clock()
        copies = self._copies.handle
        self._put("transfer in", copies, partial(work.copy_in, copies))
        event = self._mark(copies)
        if not self.queue.holds(self):
            self.queue.enter(self)
        with self.queue.alone() as stream:
            if stream:
                self._computes = stream
                self.card.library.do("rt.stream_wait_event", stream, event)
                self._put("compute", stream, partial(work.compute, stream))

    def _put(self, what: str, stream: int, work: Callable[[], None]) -> None:
        """Put work on a stream; between two events, where somebody wants to know when it was done."""
        if self.watch is None:
            work()
            return
        begin = self._mark(stream)
        work()
        self._parts.append(Part(what, stream, begin, self._mark(stream)))

    def _mark(self, stream: int) -> int:
        """An event: a new one each time, since how one is used again differs between versions of CANN."""
        event: int = self.card.own.get("rt.create_event", undo=_UNDO)
        self._events.append(event)
        self.card.library.do("rt.record_event", event, stream)
        return event

    def _finish(self) -> None:
        self._compute()
        self.queue.leave(self)
        copies = self._copies.handle
        self._tell(self._computes)
        for work in self._work:
            self._put("transfer out", copies, partial(work.copy_out, copies))
        self._copies.synchronize()
        self._tell(copies)
        self._end_events()
        self._work.clear()
        self._copying = False

    def _tell(self, stream: int) -> None:
        """What was done on a stream that has come to rest."""
        parts = [part for part in self._parts if part.stream == stream]
        if self.watch is not None and parts:
            tell(self.card.library, parts, self._put_at, self.watch)

    def _compute(self) -> None:
        """Wait until it has, alone if need be. Not by an event: only a stream says whether something on it failed."""
        if not self.queue.turn(self):
            try:
                self.queue.synchronize()
            except DeviceError:
                if not self.queue.doubt():
                    raise
            else:
                return
        self._copies.synchronize()  # the inputs are on the card
        with self.queue.to_itself() as stream:
            self._computes = stream
            for work in self._work:
                self._put("compute", stream, partial(work.compute, stream))
            self.queue.synchronize()

    def _abandon(self) -> None:
        """Wait for what is in flight, and let go of all that belongs to this batch."""
        copying, computing = self._copying, self.queue.holds(self)
        self._copying = False
        self._work.clear()
        try:
            with self.card.current():
                if computing:
                    self.queue.turn(self)
                    self.queue.settle()
                if copying and not self._copies.settle():
                    self._copies.drop()
                self._end_events()
        except DeviceError:  # the card answers nothing any more
            if computing:
                self.queue.give_up()
            self._copies.stuck = True
        finally:
            if computing:
                self.queue.leave(self, failed=True)

    def _end_events(self) -> None:
        """What cannot be ended now is with the card; an answer does not depend on it."""
        self._parts.clear()
        while self._events:
            with suppress(DeviceError):
                self.card.own.end(self._events.pop(), _UNDO)
