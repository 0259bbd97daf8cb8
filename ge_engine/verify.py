"""Verify: run the graphs of a stage against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ops import Array

from . import runtime
from .gears import Gear
from .samples import Batch, runnable_batch
from .stage import StaticGraph


def deviation(static: Mapping[Gear, StaticGraph], shared: Mapping[tuple[tuple[str, int], ...], str]) -> float | None:
    """How far each static graph, run alone, is from the shared graph of its sizes: 0.0 for the same bytes."""
    largest: float | None = None
    for dims, path in shared.items():
        together = Runner(path)
        for gear, graph in static.items():
            if gear.dims == dims:
                alone = Runner(graph.path)
                batch, results, _ = runnable_batch(graph.inputs, alone)
                largest = max(largest or 0.0, difference(results, together(batch)))
    return largest


class Runner:
    """A graph, called with named arrays; inputs that the folded graph no longer has are left out."""

    def __init__(self, model: Any) -> None:
        self.session = runtime.session(model)
        self.inputs = {value.name for value in self.session.get_inputs()}

    def __call__(self, batch: Batch, outputs: Sequence[str] | None = None) -> list[Array]:
        feeds = {name: array for name, array in batch.items() if name in self.inputs}
        return list(self.session.run(outputs, feeds))


def difference(wanted: Iterable[Array], got: Iterable[Array]) -> float:
    """The largest difference, relative to the largest value of its tensor; 0.0 only for the same bytes.

    >>> difference([np.float32([1, 4])], [np.float32([1, 3])])
    0.25
    """
    return max((_difference(a, b) for a, b in zip(wanted, got)), default=0.0)


def _difference(a: Array, b: Array) -> float:
    if a.shape != b.shape:
        return float("inf")
    if a.tobytes() == b.tobytes():
        return 0.0
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    if not (np.isfinite(wide_a) == np.isfinite(wide_b)).all():
        return float("inf")
    scale = np.abs(wide_a[np.isfinite(wide_a)]).max(initial=0.0)
    gap = np.abs(np.where(np.isfinite(wide_a), wide_a - wide_b, 0.0)).max(initial=0.0)
    return float(max(gap / max(scale, np.finfo(np.float32).tiny), np.finfo(np.float64).tiny))
