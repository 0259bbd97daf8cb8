"""Series: spans that follow one another, each time in the same order: counted, added up, and the last ones kept."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

import numpy as np

_ROOM = 32 << 10  # bytes of passes that are added up together
WINDOW = 4096  # passes of which percentiles are taken


@dataclass(frozen=True)
class Sums:
    """What a series has counted. Times in seconds, one a span.

    total: of the passes. of_samples: each pass counted once a sample. p50, p90: of the last passes.
    sizes: passes by their number of samples. more: what else was added up.
    """

    passes: int
    samples: int
    failed: int
    total: list[float]
    of_samples: list[float]
    p50: list[float]
    p90: list[float]
    sizes: dict[int, int]
    more: list[float]


class Series:
    """So many spans. A pass is a list: its number of samples, then times in seconds, one more than there are spans.

    A span lies between two neighbours of the list, whichever of them is the earlier.
    more: how many numbers come with each pass, which are only added up.
    `add` only keeps them; many are added up together, by whoever brings the last of them or asks for the sums. All
    methods may be called from any thread.
    """

    def __init__(self, spans: int, more: int = 0) -> None:
        self._spans = spans
        # Bytes: lists that live on are work for the garbage collector. Floats, which are packed three times as fast.
        layout = Struct(f"{spans + 2 + more}d")
        self._pack = layout.pack
        self._many = max(16, _ROOM // layout.size)
        self._new: deque[bytes] = deque()  # its append and popleft are atomic
        self._lock = threading.Lock()
        self._passes = self._samples = self._failed = 0
        self._total = np.zeros(spans)
        self._of_samples = np.zeros(spans)
        self._more = np.zeros(more)
        self._sizes: Counter[int] = Counter()
        self._window = np.empty((WINDOW, spans))

    def add(self, marks: Sequence[float], *more: int) -> None:
        """A pass that is over."""
        new = self._new
        new.append(self._pack(*marks, *more))
        if len(new) >= self._many and self._lock.acquire(blocking=False):
            try:
                self._fold()
            finally:
                self._lock.release()

    def fail(self, count: int = 1) -> None:
        """Passes that failed: counted, not timed."""
        with self._lock:
            self._failed += count

    def sums(self) -> Sums:
        """All so far."""
        with self._lock:
            self._fold()
            last = self._window[: min(self._passes, WINDOW)]
            p50, p90 = np.percentile(last, (50, 90), axis=0) if len(last) else np.zeros((2, self._spans))
            return Sums(
                self._passes,
                self._samples,
                self._failed,
                self._total.tolist(),
                self._of_samples.tolist(),
                p50.tolist(),
                p90.tolist(),
                dict(self._sizes),
                self._more.tolist(),
            )

    def _fold(self) -> None:
        passes = [self._new.popleft() for _ in range(len(self._new))]
        if not passes:
            return
        table = np.frombuffer(b"".join(passes)).reshape(len(passes), -1)
        samples, spans, more = table[:, 0], np.abs(np.diff(table[:, 1 : self._spans + 2])), table[:, self._spans + 2 :]
        self._samples += int(samples.sum())
        self._total += spans.sum(axis=0)
        self._of_samples += samples @ spans
        self._more += more.sum(axis=0)
        for size, count in zip(*np.unique(samples, return_counts=True)):
            self._sizes[int(size)] += int(count)
        places = np.arange(self._passes, self._passes + len(passes)) % WINDOW
        self._window[places] = spans
        self._passes += len(passes)
