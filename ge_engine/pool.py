"""Pool: things of which each has one user at a time (buffer sets, streams)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Generic, TypeVar

from ops import DeviceError

T = TypeVar("T")


class Pool(Generic[T]):
    """The last thing given back is the next one taken: its memory is still in the cache.

    A list's pop and append are atomic, so the lock is for those who wait.
    """

    def __init__(self, things: Iterable[T]) -> None:
        self._free = list(things)
        self._size = len(self._free)
        # Taken itself, not through its Condition: an interrupt on the way into that would keep it for ever.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting = 0
        self._closed = False

    def take(self, wait: bool = True) -> T:
        """A free thing; waits for one.

        Errors: DeviceError when the pool is closed, or when none is free and `wait` is false.
        """
        try:
            thing = self._pop()
        except IndexError:
            thing = self._wait_for_one(wait)
        if self._closed:  # looked at last: whoever closes it counts what has not been taken by then
            self.give(thing)
            raise _closed()
        return thing

    def give(self, thing: T) -> None:
        self._free.append(thing)
        if self._waiting:  # looked at last: who waits has said so before looking whether one is free
            with self._lock:
                self._changed.notify_all()

    def close(self) -> None:
        """Refuse new takers, and wait until everything has been given back."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
            self._waiting += 1
            while len(self._free) < self._size:
                self._changed.wait()
            self._waiting -= 1

    def _pop(self) -> T:
        """Errors: IndexError where none is free."""
        return self._free.pop()

    def _wait_for_one(self, wait: bool) -> T:
        with self._lock:
            self._waiting += 1
            try:
                while True:
                    with suppress(IndexError):
                        return self._pop()
                    if self._closed:
                        raise _closed()
                    if not wait:
                        raise DeviceError(
                            "this thread holds all execution contexts that are left",
                            fix="leave a lease before the next call",
                        )
                    self._changed.wait()
            finally:
                self._waiting -= 1


def _closed() -> DeviceError:
    return DeviceError("the session is closed", fix="open another: plan.session()")
