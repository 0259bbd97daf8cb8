"""Recorder: the one seam through which a session says what it does, and when.

What is always counted costs a few bytes a sample, a run and a request; a trace takes every slice, while there is one.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ops import WrongUse

from .parts import CHECK, COPY_OUT, QUEUE, REQUEST, Part, levels
from .series import Series, Sums
from .trace import Trace

if TYPE_CHECKING:
    from ..dump.data import Dump
    from ..plan import Plan

_REQUEST = (CHECK, QUEUE, REQUEST)


class Recorder:
    """What a session has done. All methods may be called from any thread.

    requests: of each call that is answered, when it was checked, was started, came, and was answered.
    samples: of each sample that is answered, the parts of every level, what lies between two levels, and the copy of
    the results; with the bytes that were copied in and out.
    runs: for each level, the device's parts, with the rows of a run. All three take passes, see Series.
    numbers: those of the samples. pending: how many samples wait to be put into a batch.
    trace: takes every slice, while there is one. dump: takes every value. Another thread may end either at any time:
    look once.
    """

    def __init__(self, plan: Plan, device: str) -> None:
        self.plan = plan
        self.device = device
        self.levels = tuple(levels(plan))
        self.samples = Series(sum(len(level.host) + 1 for level in self.levels) + 1, more=2)
        self.runs = tuple(Series(len(level.device)) for level in self.levels)
        self.numbers = itertools.count(1)
        self.pending: Callable[[], int] = lambda: 0
        self.trace: Trace | None = None
        self.dump: Dump | None = None
        self.requests = Series(len(_REQUEST))
        self._failed = [0] * len(self.levels)
        self._lock = threading.Lock()

    def host_failed(self, depth: int) -> None:
        """A sample has failed on the host, in a level."""
        with self._lock:
            self._failed[depth] += 1

    def start_trace(self, file: str | os.PathLike[str]) -> Trace:
        """Errors: WrongUse for a file that cannot be written, or while there is another trace."""
        with self._lock:
            if self.trace is not None:
                raise WrongUse("the session is being traced already", fix="stop that trace first")
            title = f"{self.plan.graph.name} on {self.device}"
            self.trace = trace = Trace(file, title, self.device, self.levels, self._end_trace)
            return trace

    def start_dump(self, folder: str | os.PathLike[str], layers: bool, most: int) -> Dump:
        """Errors: WrongUse for a folder that cannot be made, or while there is another dump."""
        from ..dump.data import Dump  # with onnx

        with self._lock:
            if self.dump is not None:
                raise WrongUse("the session's data are being dumped already", fix="stop that dump first")
            self.dump = dump = Dump(folder, self.plan, layers, most, self._end_dump)
            return dump

    def _end_dump(self) -> None:
        self.dump = None

    def _end_trace(self) -> None:
        self.trace = None

    def sums(self) -> Iterator[tuple[Part, Sums, int]]:
        """Each part, with the sums it is in and its place there, in the order of a request."""
        requests, samples = self.requests.sums(), self.samples.sums()
        yield from ((part, requests, index) for index, part in enumerate(_REQUEST))
        index = 0
        for level, runs in zip(self.levels, self.runs):
            yield from ((part, samples, index + place) for place, part in enumerate(level.host))
            index += len(level.host) + 1
            sums = runs.sums()
            yield from ((part, sums, place) for place, part in enumerate(level.device))
        yield COPY_OUT, samples, index

    def failed(self, depth: int) -> int:
        """The samples that failed on the host, in a level."""
        return self._failed[depth]
