"""Metrics: what sessions count, under Triton's names, for Prometheus. They are made when they are asked for.

A counter that falls reads as a restart. So what a session has counted stays after its end, as long as another of the
same pipeline is in the registry; with the last of them all go.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ops import GepipeError

from .counters import VERSION, counters
from .recorder import Recorder

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

# Triton's name: what it counts, and the counter that it is. Times are microseconds, added up over requests.
_COUNTERS = {
    "nv_inference_request_success": ("Requests that were answered", "succeeded"),
    "nv_inference_request_failure": ("Requests of which a sample failed", "failed"),
    "nv_inference_count": ("Samples that were answered", "inferences"),
    "nv_inference_exec_count": ("Batches that were run", "executions"),
    "nv_inference_request_duration_us": ("From a request's arrival to its answer", "request_ns"),
    "nv_inference_queue_duration_us": ("Waits for a batch, for buffers, for a stream", "queue_ns"),
    "nv_inference_compute_input_duration_us": ("Inputs checked and copied", "compute_input_ns"),
    "nv_inference_compute_infer_duration_us": ("Ops and device runs", "compute_infer_ns"),
    "nv_inference_compute_output_duration_us": ("Results copied", "compute_output_ns"),
}
_PENDING = "nv_inference_pending_request_count"
Totals = dict[str, Counter[str]]  # by model: the sum of each field

_lock = threading.Lock()
_collectors: WeakKeyDictionary[CollectorRegistry, Collector] = WeakKeyDictionary()


def register(recorder: Recorder, registry: CollectorRegistry | None = None) -> Callable[[], None]:
    """From now on, what this recorder counts is in the registry (by default prometheus_client's own), with all others'.

    What is returned says that it counts no more. It may be called more than once, and by the garbage collector.
    Errors: GepipeError where prometheus-client is not installed, or another collector has the names.
    """
    try:
        from prometheus_client import REGISTRY
    except ImportError as error:
        fix = "pip install prometheus-client"
        raise GepipeError("metrics need the package prometheus-client", fix=fix) from error
    registry = REGISTRY if registry is None else registry
    with _lock:
        collector = _collectors.get(registry)
        if collector is None:
            collector = Collector()
            try:
                registry.register(collector)
            except ValueError as error:
                fix = "give the session's metrics a registry of their own"
                raise GepipeError("another collector of this registry has Triton's names", fix=fix) from error
            _collectors[registry] = collector
    collector.add(recorder)
    return lambda: collector.end(recorder)


class Collector:
    """All recorders of one registry, for a name may be in a registry only once. Equal models are added up."""

    def __init__(self) -> None:
        self._ended: deque[Recorder] = deque()
        self._recorders: dict[Recorder, None] = {}
        self._kept: dict[str, Totals] = {}  # by pipeline: of those that have ended
        self._lock = threading.Lock()

    def add(self, recorder: Recorder) -> None:
        with self._lock:
            self._settle()
            self._recorders[recorder] = None

    def end(self, recorder: Recorder) -> None:
        """It counts no more. A garbage collector may say so anywhere, also where this thread has the lock."""
        self._ended.append(recorder)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def describe(self) -> Iterator[Metric]:
        """The names, which a registry keeps others from taking."""
        return _metrics({}, Counter())

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            self._settle()
            totals: Totals = {}
            for kept in self._kept.values():
                for model, sums in kept.items():
                    totals.setdefault(model, Counter()).update(sums)
            pending: Counter[str] = Counter()
            for recorder in self._recorders:
                pending[_add(totals, recorder)] += recorder.pending()
        return _metrics(totals, pending)

    def _settle(self) -> None:
        """Take out those that count no more, and keep their sums while others of their names are here."""
        while self._ended:
            recorder = self._ended.popleft()
            if recorder in self._recorders:
                del self._recorders[recorder]
                name = _name(recorder)
                if name in map(_name, self._recorders):
                    _add(self._kept.setdefault(name, {}), recorder)
                else:
                    self._kept.pop(name, None)


def _name(recorder: Recorder) -> str:
    """Of its pipeline."""
    return next(iter(counters(recorder)))


def _add(totals: Totals, recorder: Recorder) -> str:
    """Add what it has counted; the name of its pipeline."""
    counts = counters(recorder)
    for model, one in counts.items():
        totals.setdefault(model, Counter()).update({field: getattr(one, field) for _, field in _COUNTERS.values()})
    return next(iter(counts))


def _metrics(totals: Totals, pending: Counter[str]) -> Iterator[Metric]:
    from prometheus_client.metrics_core import GaugeMetricFamily, Metric

    for name, (what, field) in _COUNTERS.items():
        metric = Metric(_Name(name), what, "counter")
        for model, sums in totals.items():
            value = sums[field] // 1000 if field.endswith("_ns") else sums[field]
            metric.add_sample(name, {"model": model, "version": VERSION}, value)
        yield metric
    gauge = GaugeMetricFamily(_PENDING, "Samples that wait to be put into a batch", labels=("model", "version"))
    for model, waiting in pending.items():
        gauge.add_metric((model, VERSION), waiting)
    yield gauge


class _Name(str):
    """A counter's name as Triton writes it: prometheus-client would end it in _total."""

    def __add__(self, suffix: str) -> str:
        return str(self) if suffix == "_total" else str.__add__(self, suffix)
