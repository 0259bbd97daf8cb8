"""Windows: what was answered in a stretch of time, and whether several of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..counters import Counts, difference

AGREE = 3  # windows in a row


class Latency(NamedTuple):
    """In microseconds; percentiles interpolated as numpy does."""

    avg: float
    p50: float
    p90: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Window:
    """The requests that ended within a stretch of time.

    latencies: in seconds, of the requests that were answered. rows: samples in a request.
    cpu_s: CPU time of this process. before, after: what the target had counted at both ends.
    """

    seconds: float
    latencies: Sequence[float]
    rows: int = 1
    cpu_s: float = 0.0
    before: Counts = field(default_factory=dict)
    after: Counts = field(default_factory=dict)

    @property
    def requests_per_sec(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    @property
    def infer_per_sec(self) -> float:
        return self.requests_per_sec * self.rows

    @property
    def latency_us(self) -> Latency:
        """Zeros where nothing was answered."""
        if not len(self.latencies):
            return Latency(0, 0, 0, 0, 0)
        times = np.asarray(self.latencies) * 1e6
        return Latency(float(times.mean()), *(float(value) for value in np.percentile(times, (50, 90, 95, 99))))

    @property
    def counted(self) -> Counts:
        """What the target counted meanwhile."""
        return difference(self.after, self.before)


def stable(windows: Sequence[Window], tolerance: float) -> bool:
    """Whether the last three agree: throughput and average latency of each within that share of their mean."""
    last = windows[-AGREE:]
    measures = ([w.infer_per_sec for w in last], [w.latency_us.avg for w in last])
    return len(last) == AGREE and all(_agree(values, tolerance) for values in measures)


def _agree(values: Sequence[float], tolerance: float) -> bool:
    mean = sum(values) / len(values)
    return mean > 0 and all(abs(value - mean) <= tolerance * mean for value in values)


def merge(windows: Sequence[Window]) -> Window:
    """Windows in a row as one."""
    if not windows:
        return Window(0.0, ())
    return Window(
        sum(window.seconds for window in windows),
        [latency for window in windows for latency in window.latencies],
        windows[0].rows,
        sum(window.cpu_s for window in windows),
        windows[0].before,
        windows[-1].after,
    )
