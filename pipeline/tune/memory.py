"""Memory: what a plan takes on a device, by streams: weights, and buffers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ge_engine.single_file import read_graph
from ge_engine.stage import BuiltStage
from ge_engine.weights import nbytes

from ..plan import Plan


@dataclass(frozen=True)
class Memory:
    """Bytes. weights: of each device stage, once. sample: of a row of all buffers that a device reads and fills."""

    weights: Mapping[str, int]
    sample: int

    @classmethod
    def of(cls, plan: Plan) -> Memory:
        weights = {name: _weights(stage) for name, stage in plan.built.items()}
        return cls(weights, sum(map(_sample, plan.built.values())))

    def weights_on_npu(self, streams: int, num_gears: Mapping[str, int]) -> int:
        """On one card, served by npu_ge: a copy for each stream, but one for all of a graph of one gear (static).

        num_gears: of each stage.
        """
        return sum(nbytes * (streams if num_gears[name] > 1 else 1) for name, nbytes in self.weights.items())

    def buffers(self, streams: int, largest: int) -> int:
        """Of a session: a set a stream and one more, and a set a stream and two more for submit and map."""
        return (2 * streams + 3) * largest * self.sample


def _weights(stage: BuiltStage) -> int:
    """What the graph of one gear refers to: all gears share it."""
    graph = next(iter(stage.static.values()))
    if stage.frozen:
        return os.path.getsize(graph.path)  # a TensorFlow graph: nearly all of it
    return sum(map(nbytes, read_graph(graph.path).graph.initializer))


def _sample(stage: BuiltStage) -> int:
    return max(_bytes((*graph.inputs, *graph.outputs)) // graph.gear.batch for graph in stage.static.values())


def _bytes(tensors: Iterable[tuple[str, str, tuple[int, ...]]]) -> int:
    return sum(math.prod(map(abs, shape)) * np.dtype(dtype).itemsize for _, dtype, shape in tensors)
