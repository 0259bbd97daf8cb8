"""Single file: a built graph as one .onnx with its weights inside, as a server wants it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import helper

from . import weights
from .assemble import assemble
from .fold import folded
from .shapes import Shape, set_shape
from .stage import StageGraph

LIMIT = 2**31 - 2**24  # protobuf takes less than 2 GiB


def read_graph(path: str) -> onnx.ModelProto:
    """A graph that build wrote, its weights by reference."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        if weights.is_heavy(tensor):
            entry = weights.entries(tensor)
            place = os.path.join(os.path.dirname(path), entry["location"])
            weights.refer(tensor, place, int(entry["offset"]), int(entry["length"]))
    return model


def any_size_graph(stage: StageGraph, outputs: Mapping[str, Shape]) -> onnx.ModelProto:
    """One sample of any of its sizes: graded dims keep their names. outputs: the shapes to declare.

    Errors: BuildError when the graph cannot be made for open sizes.
    """
    model, _ = assemble(stage)
    named: dict[str, Shape] = {
        key: (1, *(dim if isinstance(dim, int) else str(dim) for dim in spec.shape)) for key, spec in stage.inputs
    }
    graph = folded(model, named)
    for value in graph.graph.output:
        set_shape(value, outputs[value.name])
    return graph


def write_single_file(model: onnx.ModelProto, outputs: Sequence[tuple[str, str]], path: Path) -> None:
    """Write a graph with its weights inside, or beside it where they are too large for one file.

    outputs: for each output, its name in the file and the graph's own name for it; one value may have several.
    """
    _name_outputs(model.graph, outputs)
    heavy = [tensor for tensor in model.graph.initializer if weights.is_heavy(tensor)]
    if sum(weights.nbytes(tensor) for tensor in heavy) < LIMIT:
        for tensor in heavy:
            weights.load(tensor)
    else:
        with weights.WeightFile(path.with_suffix(".weights")) as file:
            file.take(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def _name_outputs(graph: onnx.GraphProto, outputs: Sequence[tuple[str, str]]) -> None:
    by_name = {value.name: value for value in graph.output}
    named = []
    for name, key in outputs:
        value = onnx.ValueInfoProto()
        value.CopyFrom(by_name[key])
        if name != key:
            value.name = name
            graph.node.append(helper.make_node("Identity", [key], [name], name=f"{name}_named"))
        named.append(value)
    del graph.output[:]
    graph.output.extend(named)
    known = {value.name for value in graph.value_info}
    graph.value_info.extend(by_name[key] for key in by_name if key not in {name for name, _ in outputs} | known)
