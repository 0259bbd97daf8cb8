"""Forming: the batches that are being filled. Which one a sample joins, and which one runs next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .deployment import Batching
from .group import Group, Seat, Sizes
from .item import Item

NEVER = float("inf")


class Rows(Protocol):
    """What a batch is formed for: a Level, or what stands in for one where nothing runs."""

    @property
    def rows(self) -> int: ...

    @property
    def graded(self) -> bool: ...

    @property
    def alike(self) -> Sizes: ...

    def best_rows(self) -> int: ...

    def group(self, slot: int, sizes: Sizes) -> Group: ...


class Ticket:
    """A sample's right to a row: the row itself, or where its size is not known yet a slot, in case it needs one."""

    __slots__ = ("seat", "slot")

    def __init__(self, seat: Seat | None, slot: int | None) -> None:
        self.seat = seat
        self.slot = slot


class Forming:
    """The rules of merging, without threads or a clock: the caller holds a lock, and says what time it is.

    A full batch runs as soon as a stream is idle. A partial one waits for max_delay_us, or a preferred size. Without a
    delay, on a device of its own it runs as soon as a stream is idle; on the host's cores, where that would gain
    nothing and lose the merging, when no waiting sample can join it.

    spread: how many batches are filled side by side. On the host's cores one a stream, so that those who fill them
    do not wait for each other; else one, which gets full soonest.
    ahead: how many of the streams only let a batch be copied while another computes. A partial batch that took one of
    them would gain nothing, and could be joined no more.
    """

    def __init__(
        self, level: Rows, slots: Iterable[int], streams: int, batching: Batching, on_host: bool, ahead: int = 0
    ) -> None:
        preferred = [size for size in batching.preferred if size <= level.rows]
        self.rows = max(preferred, default=level.best_rows())
        self.groups: list[Group] = []  # the oldest first
        self.closing = False
        self._level = level
        self._free = list(slots)
        self._idle = streams
        self._ahead = ahead
        self._on_host = on_host
        self._spread = streams if on_host else 1
        self._delay_s = batching.max_delay_us * 1e-6
        self._enough = min(preferred, default=self.rows)

    def admit(self, now: float) -> Ticket | None:
        """A place for a sample that waits; None where it has to wait on."""
        if self._level.graded:
            return Ticket(None, self._free.pop()) if self._free else None
        group = self._join(self._level.alike, bool(self._free), now)
        if group is None:
            if not self._free:
                return None
            group = self._open(self._free.pop(), self._level.alike)
        return Ticket((group, group.reserve()), None)

    def find(self, ticket: Ticket, sizes: Sizes, now: float) -> Seat:
        """The row of a sample whose size is known by now."""
        if ticket.seat is None:
            assert ticket.slot is not None
            group = self._join(sizes, True, now)
            if group is None:
                slot, ticket.slot = ticket.slot, None
                group = self._open(slot, sizes)
            ticket.seat = (group, group.reserve())
        return ticket.seat

    def settle(self, ticket: Ticket, item: Item | None, now: float) -> None:
        """The sample stands in its row; None: it does not."""
        if ticket.slot is not None:
            self._free.append(ticket.slot)
        if ticket.seat is None:
            return
        group, row = ticket.seat
        group.settle(row, item)
        if item is not None and group.filled == 1:
            group.since = now
        if not group.filled and not group.filling:
            self.groups.remove(group)
            self.end(group)

    def due(self, waiting: bool, now: float) -> Group | None:
        """The batch that is to run now, with a stream for it. waiting: whether samples wait to be started."""
        if self._idle:
            for group in self.groups:
                if not group.filling and self._is_due(group, waiting, now):
                    self.groups.remove(group)
                    self._idle -= 1
                    return group
        return None

    def left_device(self) -> None:
        """A batch has given its stream back."""
        self._idle += 1

    def end(self, group: Group) -> None:
        """A batch is done with its slot."""
        self._free.append(group.slot)

    def next_time(self) -> float:
        """When a batch will be due that is not yet, if nothing else happens."""
        if not self._delay_s or not self._idle:
            return NEVER
        return min((group.since + self._delay_s for group in self.groups if not group.filling), default=NEVER)

    def _is_due(self, group: Group, waiting: bool, now: float) -> bool:
        """Whether a batch is to run on an idle stream."""
        if not group.filled:
            return False
        if self._is_ripe(group, now):
            return True
        if waiting:
            return self._level.graded and not self._free  # what waits cannot join before a slot is free
        return self.closing or (self._on_host and not self._delay_s)

    def _is_ripe(self, group: Group, now: float) -> bool:
        """Whether a batch that has begun is to run even if others could join it."""
        if group.filled >= self.rows:
            return True
        if self._delay_s:
            return group.filled >= self._enough or now >= group.since + self._delay_s
        return not self._on_host and self._idle > self._ahead

    def _join(self, sizes: Sizes, may_open: bool, now: float) -> Group | None:
        """A batch with room for the sample; None where a new one is better, or the only way."""
        open_ = [
            group
            for group in self.groups
            if group.sizes == sizes
            and group.filled + group.filling < self.rows
            and not (self._idle and group.filled and self._is_ripe(group, now))
        ]
        if may_open and len(open_) < self._spread:
            open_ = [group for group in open_ if not group.filling]
        return open_[0] if open_ else None

    def _open(self, slot: int, sizes: Sizes) -> Group:
        try:
            group = self._level.group(slot, sizes)
        except BaseException:  # a device that cannot make its buffers, perhaps now only
            self._free.append(slot)
            raise
        self.groups.append(group)
        return group
