"""Metrics: what sessions count, under Triton's names, for Prometheus. They are made when they are asked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

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

_lock = threading.Lock()
_collectors: WeakKeyDictionary[CollectorRegistry, Collector] = WeakKeyDictionary()


def register(recorder: Recorder, registry: CollectorRegistry | None = None) -> Callable[[], None]:
    """From now on, what this recorder counts is in the registry (by default prometheus_client's own), with all others'.

    What is returned takes it out again.
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
    return lambda: collector.remove(recorder)


class Collector:
    """All recorders of one registry, for a name may be in a registry only once. Equal models are added up."""

    def __init__(self) -> None:
        self._recorders: WeakSet[Recorder] = WeakSet()  # a session that nobody closed goes, too
        self._lock = threading.Lock()  # a set may not change while it is walked over

    def add(self, recorder: Recorder) -> None:
        with self._lock:
            self._recorders.add(recorder)

    def remove(self, recorder: Recorder) -> None:
        with self._lock:
            self._recorders.discard(recorder)

    def describe(self) -> Iterator[Metric]:
        """The names, which a registry keeps others from taking."""
        return self._metrics(())

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            recorders = tuple(self._recorders)
        return self._metrics(recorders)

    def _metrics(self, recorders: tuple[Recorder, ...]) -> Iterator[Metric]:
        from prometheus_client.metrics_core import GaugeMetricFamily, Metric

        counts = [counters(recorder) for recorder in recorders]
        for name, (what, field) in _COUNTERS.items():
            totals: Counter[str] = Counter()
            for count in counts:
                totals.update({model: getattr(one, field) for model, one in count.items()})
            metric = Metric(_Name(name), what, "counter")
            for model, total in totals.items():
                value = total // 1000 if field.endswith("_ns") else total
                metric.add_sample(name, {"model": model, "version": VERSION}, value)
            yield metric
        gauge = GaugeMetricFamily(_PENDING, "Samples that wait to be put into a batch", labels=("model", "version"))
        pending: Counter[str] = Counter()
        for recorder, count in zip(recorders, counts):
            pending[next(iter(count))] += recorder.pending()
        for model, waiting in pending.items():
            gauge.add_metric((model, VERSION), waiting)
        yield gauge


class _Name(str):
    """A counter's name as Triton writes it: prometheus-client would end it in _total."""

    def __add__(self, suffix: str) -> str:
        return str(self) if suffix == "_total" else str.__add__(self, suffix)
