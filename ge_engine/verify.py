"""Verify: run the graphs of a stage against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ops import Array

from . import runtime
from .gears import Gear
from .samples import Batch, has_ids, id_bounds, random_batch
from .stage import StaticGraph

Dims = tuple[tuple[str, int], ...]
Bounds = Mapping[str, int]

WORST = 1e-3  # a relative difference that no kernel explains


class Unrunnable(Exception):
    """A graph fails on every random batch; the cause is chained."""

    def __init__(self, gear: Gear) -> None:
        super().__init__(str(gear))


def deviations(static: Mapping[Gear, StaticGraph], shared: Mapping[Dims, str], bounds: Bounds) -> dict[Dims, float]:
    """For each shared graph, how far the static graphs of its sizes, run alone, are from it: 0.0 for the same bytes.

    Infinity where the shared graph fails. Errors: Unrunnable for a static graph that does.
    """
    found: dict[Dims, float] = {}
    for dims in {gear.dims: None for gear in static}:
        together = _opened(shared[dims]) if dims in shared else None
        for graph in (graph for gear, graph in static.items() if gear.dims == dims):
            batch = random_batch(graph.inputs, bounds)
            try:
                results = _kept_promise(graph, Runner(graph.path)(batch))
            except Exception as error:  # ONNX Runtime has no family of exceptions
                raise Unrunnable(graph.gear) from error
            if dims in shared:
                found[dims] = max(found.get(dims, 0.0), _gap(results, together, batch))
    return found


def _kept_promise(graph: StaticGraph, results: list[Array]) -> list[Array]:
    """The results. Errors: ValueError where one has not the shape that was promised, and that its buffer has."""
    for (name, _, shape), result in zip(graph.outputs, results):
        if result.shape != shape:
            raise ValueError(f"output {name} has the shape {list(result.shape)}, promised was {list(shape)}")
    return results


def _opened(path: str) -> Runner | None:
    try:
        return Runner(path)
    except Exception:  # ONNX Runtime has no family of exceptions
        return None


def _gap(results: list[Array], together: Runner | None, batch: Batch) -> float:
    try:
        return difference(results, together(batch)) if together else float("inf")
    except Exception:  # ONNX Runtime has no family of exceptions
        return float("inf")


def bounds_of(graph: StaticGraph) -> Bounds:
    """The bounds of ids that a graph takes. Errors: Unrunnable where there are none."""
    try:
        return id_bounds(graph.inputs, Runner(graph.path)) if has_ids(graph.inputs) else {}
    except Exception as error:  # ONNX Runtime has no family of exceptions
        raise Unrunnable(graph.gear) from error


class Runner:
    """A graph, called with named arrays; inputs that the folded graph no longer has are left out."""

    def __init__(self, model: Any) -> None:
        self.session = runtime.session(model)
        self.inputs = {value.name for value in self.session.get_inputs()}

    def __call__(self, batch: Batch, outputs: Sequence[str] | None = None) -> list[Array]:
        feeds = {name: array for name, array in batch.items() if name in self.inputs}
        return runtime.run(self.session, outputs, feeds)


def difference(wanted: Iterable[Array], got: Iterable[Array]) -> float:
    """The largest difference, relative to the largest value of its tensor; 0.0 only for the same bytes.

    >>> difference([np.float32([1, 4])], [np.float32([1, 3])])
    0.25
    """
    return max((_difference(a, b) for a, b in zip(wanted, got)), default=0.0)


def _difference(a: Array, b: Array) -> float:
    if a.shape != b.shape:
        return float("inf")
    if a.dtype.hasobject:  # texts
        return 0.0 if (a == b).all() else float("inf")
    if a.tobytes() == b.tobytes():
        return 0.0
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    if not (np.isfinite(wide_a) == np.isfinite(wide_b)).all():
        return float("inf")
    scale = np.abs(wide_a[np.isfinite(wide_a)]).max(initial=0.0)
    gap = np.abs(np.where(np.isfinite(wide_a), wide_a - wide_b, 0.0)).max(initial=0.0)
    return float(max(gap / max(scale, np.finfo(np.float32).tiny), np.finfo(np.float64).tiny))
