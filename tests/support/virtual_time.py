"""A device in virtual time: what it takes is what a model says, whatever else the machine does."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ge_engine.devices import NullDevice
from ge_engine.devices.null import Clock, NullStream


class VirtualTime(threading.local):
    """A clock of each thread, in seconds: it goes on while a device computes for it, and at no other time."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class _Stream(NullStream):
    def __init__(self, index: int, time: VirtualTime) -> None:
        super().__init__(index, Clock())
        self._time = time

    def push(self, run: Callable[..., None], duration_s: float) -> None:
        super().push(run, 0.0)
        self._time.now_s += duration_s


class VirtualDevice(NullDevice):
    """A null device that waits for nothing: a run of so many rows puts the clock forward by time_us."""

    def __init__(self, time: VirtualTime, time_us: Callable[[int], float]) -> None:
        super().__init__(time_us=time_us)
        self._time = time

    def stream(self, index: int) -> NullStream:
        return _Stream(index, self._time)
