"""Queue: a stream of a card that computes, and the lanes that have work on it, in order."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress

from ops import DeviceError

from .card import Card, Owned


class Queue:
    """A model may run on one stream only, so each stage has a copy of its own for each queue.

    Who has work on it waits for it in turn. A stream tells of a failure once, to whoever asks: in turn, nobody takes
    what is meant for another. What was behind a failure may have run or not, so it is doubted, and runs again.
    """

    def __init__(self, card: Card, index: int) -> None:
        self.card = card
        self.index = index
        self.stream = make_stream(card.own)
        self._changed = threading.Condition()
        self._order: list[Hashable] = []
        self._doubted: set[Hashable] = set()
        self._broken = False

    def enter(self, lane: Hashable) -> None:
        """A lane is going to put work on it. Errors: DeviceError where a broken stream cannot be replaced."""
        with self._changed:
            while self._broken and self._order:
                self._changed.wait()
            if self._broken:
                self.stream = replaced(self.card.own, self.stream)
                self._broken = False
            self._order.append(lane)

    @contextmanager
    def alone(self) -> Iterator[int]:
        """Nobody else puts anything on its stream meanwhile: what belongs together stays together."""
        with self._changed:
            yield self.stream

    def turn(self, lane: Hashable) -> bool:
        """Wait until the lane is the first; whether its work is to be done again, since some ahead of it failed."""
        with self._changed:
            while self._order[0] is not lane:
                self._changed.wait()
            return lane in self._doubted

    def leave(self, lane: Hashable, *, failed: bool = False, broken: bool = False) -> None:
        """A lane has no more work on it. broken: its stream does not come to rest."""
        with self._changed:
            self._order.remove(lane)
            self._doubted.discard(lane)
            if failed:
                self._doubted.update(self._order)
            self._broken |= broken
            self._changed.notify_all()


def make_stream(owned: Owned) -> int:
    """Errors: DeviceError."""
    stream: int = owned.get("rt.create_stream", undo="rt.destroy_stream")
    return stream


def replaced(owned: Owned, stream: int) -> int:
    """A stream in the place of one that does not come to rest. Errors: DeviceError; then the old one is still there."""
    fresh = make_stream(owned)
    with suppress(DeviceError):  # it is tried again when the card is closed
        owned.end(stream, "rt.destroy_stream", by="rt.destroy_stream_force")
    return fresh
