"""Host: what its stages do to a sample, beside the device's work, and how many samples a second that allows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter as clock
from typing import Any

from ge_engine.cores import usable_cores

from ..session import Session
from .space import Share

_LEAST_SAMPLES = 5  # of each thread


@dataclass(frozen=True)
class Host:
    """Its stages take one of so many cores for so long: before a sample's first device stage, and behind it.

    shared: the device computes on the same cores.
    """

    cores: int
    before_us: float
    after_us: float
    shared: bool

    @property
    def us(self) -> float:
        """Of one sample."""
        return self.before_us + self.after_us

    @property
    def most_per_sec(self) -> float:
        """Samples, if all cores did nothing else."""
        return self.cores * 1e6 / self.us if self.us else math.inf

    def per_sec(self, of_device: float, streams: int, share: Share) -> float:
        """Samples, where the device alone would do so many on so many streams."""
        core_s = self.us * 1e-6 + self.cores_of(streams, share) / of_device  # of one sample
        return min(of_device, self.cores / core_s) if core_s else of_device

    def cores_of(self, streams: int, share: Share) -> int:
        """Those that the device takes while so many streams are busy."""
        threads = share if isinstance(share, int) else 1
        return min(self.cores, streams * threads) if self.shared else 0


def measure_host(session: Session, samples: Sequence[Mapping[str, Any]], seconds: float) -> Host:
    """All cores bring samples through the whole pipeline side by side; of each step, the median counts.

    Errors: the GepipeError of a sample that fails.
    """

    def work(first: int) -> None:
        end = clock() + seconds
        for count in itertools.count():
            if count >= _LEAST_SAMPLES and clock() >= end:
                return
            session.run(**samples[(first + count) % len(samples)])

    session.run(**samples[0])  # what is made when it is first needed is no part of it
    cores = usable_cores()
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, range(cores)))
    before_ms = after_ms = 0.0
    behind = False
    for row in session.stats().rows:
        on_device = row.node == "run" and not row.op
        behind = behind or on_device
        if row.share is None or on_device:
            continue
        if behind:
            after_ms += row.p50_ms
        else:
            before_ms += row.p50_ms
    return Host(cores, before_ms * 1e3, after_ms * 1e3, session.device.on_host)
