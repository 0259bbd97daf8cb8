"""Pool: things of which each has one user at a time (buffer sets, streams)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

from ops import DeviceError

T = TypeVar("T")


class Pool(Generic[T]):
    """The last thing given back is the next one taken: its memory is still in the cache."""

    def __init__(self, things: Iterable[T]) -> None:
        self._free = list(things)
        self._size = len(self._free)
        self._changed = threading.Condition()
        self._closed = False

    def take(self, wait: bool = True) -> T:
        """A free thing; waits for one.

        Errors: DeviceError when the pool is closed, or when none is free and `wait` is false.
        """
        with self._changed:
            while not self._free and not self._closed and wait:
                self._changed.wait()
            if self._closed:
                raise DeviceError("the session is closed", fix="open another: plan.session()")
            if not self._free:
                raise DeviceError(
                    "this thread holds all execution contexts that are left", fix="leave a lease before the next call"
                )
            return self._free.pop()

    def give(self, thing: T) -> None:
        with self._changed:
            self._free.append(thing)
            self._changed.notify_all()

    def close(self) -> None:
        """Refuse new takers, and wait until everything has been given back."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            while len(self._free) < self._size:
                self._changed.wait()
