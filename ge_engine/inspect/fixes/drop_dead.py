"""Drop what is dead: outputs that do not come from the inputs, and what leads to no output."""

from __future__ import annotations

import onnx
from onnx import numpy_helper

from ...weights import is_heavy
from ..dead import dead_nodes, dead_outputs, unused_weights
from .case import Case

_MOST_SHOWN = 4  # values of a constant


def drop_outputs(model: onnx.ModelProto, case: Case) -> list[str]:
    """Leave out outputs that are an input, a weight, the same for every sample, or listed before."""
    graph = model.graph
    reasons = dead_outputs(graph)
    kept: dict[str, onnx.ValueInfoProto] = {}
    for value in graph.output:
        twice = reasons.get(value.name, "").startswith("is listed")
        if value.name not in reasons or (twice and value.name not in kept):
            kept[value.name] = value
    values = {tensor.name: tensor for tensor in graph.initializer if not is_heavy(tensor)}
    outputs = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in kept.values()]
    del graph.output[:]
    graph.output.extend(outputs)
    return [
        f"output '{name}' {reason}{_shown(values.get(name))}: " + ("listed once" if name in kept else "left out")
        for name, reason in reasons.items()
    ]


def drop_nodes(model: onnx.ModelProto, case: Case) -> list[str]:
    """Leave out nodes and weights that no output needs."""
    graph = model.graph
    dead = {tuple(node.output) for node in dead_nodes(graph)}
    kept = [node for node in graph.node if tuple(node.output) not in dead]
    del graph.node[:]
    graph.node.extend(kept)
    unused = {tensor.name for tensor in unused_weights(graph)}
    tensors = [tensor for tensor in graph.initializer if tensor.name not in unused]
    del graph.initializer[:]
    graph.initializer.extend(tensors)
    counts = (("nodes", len(dead), "no output needs"), ("weights", len(unused), "nothing reads"))
    return [f"{count} {what} that {why}: left out" for what, count, why in counts if count]


def _shown(tensor: onnx.TensorProto | None) -> str:
    if tensor is None:
        return ""
    values = numpy_helper.to_array(tensor).ravel().tolist()
    return f" ({', '.join(map(str, values[:_MOST_SHOWN]))}{', ...' if len(values) > _MOST_SHOWN else ''})"
