"""Lane: the way of one batch to the card and back. Two lanes take turns at one queue.

The queue's stream computes; each lane has a stream of its own that copies. While the batch of one lane computes, that
of the other is copied in or out, and a third is prepared on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from ops import DeviceError

from ..base import Watch
from .queue import Queue, make_stream, replaced


class Work(NamedTuple):
    """One stage's part of a batch. what: for errors. compute is told the stream."""

    what: str
    copy_in: Callable[[], None]
    compute: Callable[[int], None]
    copy_out: Callable[[], None]


class Lane:
    """What a session takes as a stream: one batch at a time, of one or several stages, on a queue of a card.

    shares: what it has in common with other lanes, the widest first.
    """

    def __init__(self, queue: Queue, index: int) -> None:
        self.watch: Watch | None = None  # the card tells no times
        self.index = index
        self.card = queue.card
        self.queue = queue
        self.copies = make_stream(queue.card.own)
        self.shares: tuple[Hashable, ...] = (queue.card.number, queue.index)
        self._library = queue.card.library
        self._events: list[int] = []
        self._work: list[Work] = []
        self._copying = False
        self._computing = False
        self._copies_broken = False

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
        if self._copies_broken:
            self.copies = replaced(self.card.own, self.copies)
            self._copies_broken = False
        self._copying = True
        work.copy_in()
        # A new event each time: how one is used again differs between versions of CANN.
        event = self._library.get("rt.create_event")
        self._events.append(event)
        self._library.do("rt.record_event", event, self.copies)
        if not self._computing:
            self.queue.enter(self)
            self._computing = True
        with self.queue.alone() as stream:
            self._library.do("rt.stream_wait_event", stream, event)
            work.compute(stream)

    def _finish(self) -> None:
        while self.queue.turn(self):
            self._compute_again()
        # Not by an event: only the stream that computed says whether it failed.
        self._library.do("rt.synchronize_stream", self.queue.stream)
        self._computing = False
        self.queue.leave(self)
        for work in self._work:
            work.copy_out()
        self._library.do("rt.synchronize_stream", self.copies)
        while self._events:
            self._library.insist("rt.destroy_event", self._events.pop())
        self._work.clear()
        self._copying = False

    def _compute_again(self) -> None:
        """With the inputs that are on the card."""
        self._library.do("rt.synchronize_stream", self.copies)
        settled = self._settled(self.queue.stream)
        self._computing = False
        self.queue.leave(self, broken=not settled)
        self.queue.enter(self)
        self._computing = True
        with self.queue.alone() as stream:
            for work in self._work:
                work.compute(stream)

    def _abandon(self) -> None:
        """Wait for what is in flight, and let go of all that belongs to this batch."""
        copying, computing = self._copying, self._computing
        self._copying = self._computing = False
        self._work.clear()
        failed = broken = False
        try:
            with self.card.current():
                if computing:
                    self.queue.turn(self)
                    failed, broken = True, not self._settled(self.queue.stream)
                self._copies_broken |= copying and not self._settled(self.copies)
                while self._events:
                    self._library.insist("rt.destroy_event", self._events.pop())
        except DeviceError:  # the card answers nothing any more
            failed = broken = self._copies_broken = True
        finally:
            if computing:
                self.queue.leave(self, failed=failed, broken=broken)

    def _settled(self, stream: int) -> bool:
        """Whether nothing is on a stream any more. It may tell of an old failure first."""
        for _ in range(2):
            try:
                self._library.do("rt.synchronize_stream", stream)
            except DeviceError:
                continue
            return True
        return False
