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

Names = Sequence[tuple[str, str]]
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


def any_size_graph(stage: StageGraph, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> onnx.ModelProto:
    """One sample of any of its sizes. inputs, outputs: the shapes to declare, with names for what varies.

    Errors: BuildError when the graph cannot be made for open sizes.
    """
    model, _ = assemble(stage)
    graph = folded(model, inputs)
    for value in graph.graph.output:
        set_shape(value, outputs[value.name])
    return graph


def write_single_file(model: onnx.ModelProto, inputs: Names, outputs: Names, path: Path) -> None:
    """Write a graph with its weights inside, or beside it where they are too large for one file.

    inputs, outputs: for each, its name in the file and the graph's own name for it; one output may have several.
    """
    for name, key in inputs:
        if name != key:
            _rename(model.graph, key, name)
    _name_outputs(model.graph, outputs)
    heavy = [tensor for tensor in model.graph.initializer if weights.is_heavy(tensor)]
    if sum(weights.nbytes(tensor) for tensor in heavy) < LIMIT:
        for tensor in heavy:
            weights.load(tensor)
    else:
        with weights.WeightFile(path.with_suffix(".weights")) as file:
            file.take(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def _name_outputs(graph: onnx.GraphProto, outputs: Names) -> None:
    own = {key: f"{key}.own" if any(name == key != other for name, other in outputs) else key for _, key in outputs}
    for key in (key for key in own if own[key] != key):  # another value goes by this name outside
        _rename(graph, key, own[key])
    outputs = [(name, own[key]) for name, key in outputs]
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


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Give a tensor another name wherever it is made, read or declared."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = new if value.name == old else value.name
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _rename(inner, old, new)
