"""Faults: calls, and work on the device, that fail because a test says so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass
class Fault:
    """call: "rt.malloc", "mdl.execute_async", …; "device.run" and "device.copy" fail when the work is done; "*": any.

    at: the first call that fails, counted from when the fault is set. every: then each so many-th. times: at most; 0 is
    without end.
    sticky: of work on a device: its stream fails until it is destroyed.
    """

    call: str
    code: int
    at: int = 1
    every: int = 0
    times: int = 1
    sticky: bool = False
    seen: int = 0
    failed: int = 0

    def hits(self) -> bool:
        self.seen += 1
        late = self.seen - self.at
        due = late >= 0 and (late % self.every == 0 if self.every else True)
        if not due or (self.times and self.failed >= self.times):
            return False
        self.failed += 1
        return True


class Faults:
    """All that are set. counts: how often each was called."""

    def __init__(self) -> None:
        self.set: list[Fault] = []
        self.counts: Counter[str] = Counter()

    def take(self, call: str) -> Fault | None:
        self.counts[call] += 1
        hit = [fault for fault in self.set if fault.call in (call, "*") and fault.hits()]
        return hit[0] if hit else None
