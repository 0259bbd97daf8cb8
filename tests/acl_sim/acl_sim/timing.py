"""Time, virtual: how long the parts of a run take, where they find room, and what happened when (microseconds)."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# Of a request, by the cores it is held to: the part that is its stream's own, and what each busy stream adds to it.
PUBLISHED = {None: (3420.0, 1170.0), "12|10": (3150.0, 720.0)}


@dataclass
class Timing:
    """What takes how long. run_us: fixed and core part of one run of the smallest gear, by aicore_num.

    run: replaces the model of a run; told the model's name, how many times the smallest gear it runs, the streams busy
    on the device, and its aicore_num.
    """

    call_us: float = 1.0
    launch_us: float = 5.0
    gap_us: float = 0.2
    copy_us: float = 20.0
    gbytes_per_s: float = 10.0
    malloc_us: float = 50.0
    malloc_host_us: float = 500.0
    run_us: Mapping[str | None, tuple[float, float]] = field(default_factory=lambda: dict(PUBLISHED))
    run: Callable[[str, float, int, str | None], float] | None = None

    def copying(self, nbytes: int) -> float:
        return self.copy_us + nbytes / (self.gbytes_per_s * 1e3)

    def running(self, model: str, scale: float, streams: int, cores: str | None) -> float:
        """t(n) of n busy streams: the fixed part, and n times the part on the cores; that one follows the gear."""
        if self.run is not None:
            return self.run(model, scale, streams, cores)
        fixed, core = self.run_us.get(cores) or self.run_us[None]
        return fixed + core * scale * streams


class Span(NamedTuple):
    """kind: "h2d", "d2h", "d2d", "run" or "memset"; what: the model's name, or the bytes."""

    device: int
    stream: int
    kind: str
    what: str
    start: float
    end: float


class Lane:
    """What does one thing at a time: a copy engine in one direction. Later work may find room before earlier work."""

    def __init__(self) -> None:
        self._busy: list[tuple[float, float]] = []

    def place(self, ready: float, duration: float) -> float:
        """The earliest start at or after `ready` that leaves everything else where it is."""
        start = ready
        for begin, end in self._busy:
            if begin >= start + duration:
                break
            start = max(start, end)
        bisect.insort(self._busy, (start, start + duration))
        del self._busy[:-64]
        return start


@dataclass
class Timeline:
    """All that the devices did."""

    spans: list[Span] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Span]:
        return [span for span in self.spans if span.kind in kinds]

    def overlap(self, first: str, second: str) -> float:
        """How much of the time of one kind went by while something of the other was under way, on the same device."""
        others = sorted(self.of(second), key=lambda span: span.start)
        total = 0.0
        for span in self.of(first):
            reached = span.start
            for other in others:
                begin, end = max(reached, other.start), min(span.end, other.end)
                if other.device == span.device and begin < end:
                    total += end - begin  # no time twice, however many are under way
                    reached = end
        return total
