"""Queue: a stream of a card that computes, and the lanes that have work on it, in order."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress

from ops import DeviceError

from .card import Card
from .stream import CardStream


class Queue:
    """A model may run on one stream only, so each stage has a copy of its own for each queue.

    Who has work on it waits for it in turn. A stream tells of a failure once, to whoever asks, and not whose it was. So
    all that is in order then is doubted: in its turn it runs again, alone, and what fails alone has failed by itself.
    """

    def __init__(self, card: Card, index: int) -> None:
        self.card = card
        self.index = index
        self._stream = CardStream(card)
        # Taken itself, not through its Condition: an interrupt on the way into that would keep it for ever.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._order: list[Hashable] = []
        self._doubted: set[Hashable] = set()

    def ready(self) -> None:
        """Wait until nothing of an earlier batch is stuck on it. Errors: DeviceError where it cannot be replaced."""
        with self._lock:
            self._mend()

    def enter(self, lane: Hashable) -> None:
        """A lane is going to put work on it. Errors: DeviceError, as of ready."""
        with self._lock:
            self._mend()
            self._order.append(lane)

    @contextmanager
    def alone(self) -> Iterator[int]:
        """Nobody else puts anything on its stream meanwhile: what belongs together stays together.

        0 where it is stuck: then all that is in order is going to be doubted.
        """
        with self._lock:
            yield 0 if self._stream.stuck else self._stream.handle

    def holds(self, lane: Hashable) -> bool:
        """Whether the lane is in order."""
        return lane in self._order

    def turn(self, lane: Hashable) -> bool:
        """Wait until the lane is the first; whether it is doubted."""
        with self._lock:
            while self._order[0] is not lane:
                self._changed.wait()
            return lane in self._doubted

    def synchronize(self) -> None:
        """Wait for all that is on it now. Errors: DeviceError."""
        self._stream.synchronize()

    def doubt(self) -> bool:
        """The first in order has been told of a failure: whether it may be another's."""
        with self._lock:
            self._doubted.update(self._order)
            return len(self._order) > 1

    @contextmanager
    def to_itself(self) -> Iterator[int]:
        """Its stream, for the first in order: nothing is on it, and nobody else puts anything on it meanwhile.

        Errors: DeviceError where it is stuck, and cannot be replaced.
        """
        with self._lock:
            if not self._stream.settle():
                self._doubted.update(self._order)
            yield self._stream.ready()

    def settle(self) -> None:
        """Wait until nothing is on it. What does not come to rest is ended, if the card still does that."""
        if not self._stream.settle():
            with self._lock, suppress(DeviceError):
                self._stream.drop()

    def give_up(self) -> None:
        """Nobody knows what is on it."""
        self._stream.stuck = True

    def leave(self, lane: Hashable, *, failed: bool = False) -> None:
        """A lane has no more work on it."""
        with self._lock:
            self._order.remove(lane)
            self._doubted.discard(lane)
            if failed:
                self._doubted.update(self._order)
            self._changed.notify_all()

    def _mend(self) -> None:
        while self._stream.stuck and self._order:
            self._changed.wait()
        self._stream.ready()
