"""Measure costs: the cost table of this machine, by running each op that may run in either place."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import ops
from ge_engine import runtime
from ge_engine.builder import GraphBuilder
from ops import Array, TensorSpec
from ops.op import by_output

from .costs import Costs, elements, measured_source

_SPAN_S = 0.1  # of one measurement


def measured_costs() -> Costs:
    """The table; a few seconds."""
    samples = list(_samples())
    return Costs(
        measured_source(),
        host={type(op).__name__: _host_ns(op, arrays) for op, arrays in samples},
        graph={type(op).__name__: _graph_ns(op, arrays) for op, arrays in samples},
        call=_call_ns(),
        byte=_crossing_ns(),
    )


def _samples() -> Iterator[tuple[Any, tuple[Array, ...]]]:
    random = np.random.default_rng(0)
    picture = random.integers(0, 256, (224, 224, 3), dtype=np.uint8)
    scores = random.normal(size=100_000).astype(np.float32)
    yield ops.Cast("float32"), (picture,)
    yield ops.CenterCrop(height=192, width=192), (picture,)
    yield ops.L2Normalize(), (scores,)
    yield ops.Normalize(mean=(0.5,) * 3, std=(0.5,) * 3), (picture,)
    yield ops.Pad(top=8, bottom=8, left=8, right=8), (picture,)
    yield ops.Similarity(), (scores, random.normal(size=(10, 100_000)).astype(np.float32))
    yield ops.Softmax(), (scores,)
    yield ops.SwapChannels(), (picture,)
    yield ops.TopK(k=5), (scores,)


def _host_ns(op: Any, arrays: tuple[Array, ...]) -> float:
    given, made = _specs(op, arrays)
    return _shortest_ns(lambda: op.run(*arrays)) / elements([*given, *made.values()])


def _graph_ns(op: Any, arrays: tuple[Array, ...]) -> float:
    given, made = _specs(op, arrays)
    g = GraphBuilder(17)
    values = by_output(op, op.lower(g, *(g.input(f"in{i}", spec) for i, spec in enumerate(given))))
    for name, value in values.items():
        g.output(f"out_{name}", value, made[name])
    session = runtime.session(g.model(), threads=1)
    feeds = {f"in{i}": array[None] for i, array in enumerate(arrays)}
    return _shortest_ns(lambda: session.run(None, feeds)) / elements([*given, *made.values()])


def _specs(op: Any, arrays: Iterable[Array]) -> tuple[list[TensorSpec], dict[str, TensorSpec]]:
    """Of one sample: what the op reads, and what it makes."""
    given = [TensorSpec(array.dtype, array.shape) for array in arrays]
    return given, by_output(op, op.infer(*given))


def _call_ns() -> float:
    """Of an op with next to nothing to do."""
    op, few = ops.Softmax(), np.ones(4, np.float32)
    return _shortest_ns(lambda: op.run(few))


def _crossing_ns(nbytes: int = 1 << 22) -> float:
    """A byte that is written by one stage and read by another, when no cache holds both."""
    source = np.ones(nbytes, np.uint8)
    return _shortest_ns(source.copy) / nbytes


def _shortest_ns(work: Callable[[], Any]) -> float:
    """Of many runs, as a machine that others use too gives it."""
    best = math.inf
    end = time.perf_counter() + _SPAN_S
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        work()
        best = min(best, time.perf_counter_ns() - start)
    return best
