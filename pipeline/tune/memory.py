"""Memory: what a plan takes on a device, by streams: weights, and buffers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ge_engine.single_file import read_graph
from ge_engine.stage import BuiltStage
from ge_engine.weights import nbytes

from ..plan import Plan


@dataclass(frozen=True)
class Memory:
    """Bytes. weights: of all device stages, once. sample: of a row of all buffers that a device reads and fills."""

    weights: int
    sample: int

    @classmethod
    def of(cls, plan: Plan) -> Memory:
        stages = list(plan.built.values())
        return cls(sum(map(_weights, stages)), sum(map(_sample, stages)))

    def weights_on_npu(self, streams: int, num_gears: int) -> int:
        """On one card, served by npu_ge: a copy for each stream, but one for all of a graph of one gear (static)."""
        return self.weights * (streams if num_gears > 1 else 1)

    def buffers(self, streams: int, largest: int) -> int:
        """Of a session: a set a stream and one more, and a set a stream and two more for submit and map."""
        return (2 * streams + 3) * largest * self.sample


def _weights(stage: BuiltStage) -> int:
    """What the graph of one gear refers to: all gears share it."""
    graph = next(iter(stage.static.values()))
    return sum(map(nbytes, read_graph(graph.path).graph.initializer))


def _sample(stage: BuiltStage) -> int:
    return max(_bytes((*graph.inputs, *graph.outputs)) // graph.gear.batch for graph in stage.static.values())


def _bytes(tensors: Iterable[tuple[str, str, tuple[int, ...]]]) -> int:
    return sum(math.prod(map(abs, shape)) * np.dtype(dtype).itemsize for _, dtype, shape in tensors)
