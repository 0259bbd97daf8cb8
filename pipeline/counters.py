"""Counters: what a model, or a stage, says of its own work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace


@dataclass(frozen=True, repr=False)
class Counters:
    """What has been counted so far; one minus an earlier one is what happened between.

    Of requests: how many succeeded and failed, and their times (of those in one batch, each counts the whole batch's).
    inferences: samples. executions: batches, by size in `batches`; `busy_ns` is their time.
    instances: how many can run at once; 0 for what runs nothing itself.
    """

    succeeded: int = 0
    failed: int = 0
    inferences: int = 0
    executions: int = 0
    request_ns: int = 0
    queue_ns: int = 0
    compute_input_ns: int = 0
    compute_infer_ns: int = 0
    compute_output_ns: int = 0
    busy_ns: int = 0
    batches: Mapping[int, int] = field(default_factory=dict)
    instances: int = 0

    def __repr__(self) -> str:
        """Without what is zero."""
        values = ((part.name, getattr(self, part.name)) for part in fields(self))
        return f"Counters({', '.join(f'{name}={value!r}' for name, value in values if value)})"

    def __sub__(self, earlier: Counters) -> Counters:
        counts = {name: getattr(self, name) - getattr(earlier, name) for name in _COUNTS}
        sizes = {size: count - earlier.batches.get(size, 0) for size, count in sorted(self.batches.items())}
        return replace(self, **counts, batches={size: count for size, count in sizes.items() if count})

    def each_us(self, total_ns: int) -> float:
        """A time of all requests as that of one."""
        return total_ns / self.succeeded / 1e3 if self.succeeded else 0.0

    @property
    def mean_batch(self) -> float:
        """Samples in an execution."""
        return self.inferences / self.executions if self.executions else 0.0

    def busy(self, seconds: float) -> float | None:
        """The share of that time in which an instance was at work; None for what runs nothing itself."""
        return self.busy_ns / 1e9 / seconds / self.instances if self.instances and seconds else None


_COUNTS = [part.name for part in fields(Counters) if part.name not in ("batches", "instances")]
Counts = Mapping[str, Counters]


def difference(later: Counts, earlier: Counts) -> dict[str, Counters]:
    """What happened between, for each name."""
    return {name: counters - earlier.get(name, Counters()) for name, counters in later.items()}
