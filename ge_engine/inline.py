"""Inline: a model's graph becomes part of the stage's graph, every name in it made its own."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import onnx

from .builder import GraphBuilder, GraphValue
from .opset import converted
from .skeleton import Skeleton


def inline(g: GraphBuilder, skeleton: Skeleton, values: Sequence[GraphValue]) -> tuple[GraphValue, ...]:
    """Add the nodes and weights of a model to `g`; its outputs.

    Every node gets a name, and every name gets the prefix of `g`, so that two copies of one model do not meet.
    Errors: BuildError when the model cannot be brought to the opset of `g`.
    """
    model = converted(skeleton, g.opset)
    graph = model.graph
    names = {"": ""}
    for declared, value in zip(graph.input, values):
        names[declared.name] = g.batched(value).name
    for tensor in graph.initializer:
        names[tensor.name] = g.unique(g.prefix + tensor.name)
        copy = deepcopy(tensor)
        copy.name = names[tensor.name]
        g.initializers.append(copy)
    g.nodes += [_renamed(g, node, names) for node in graph.node]
    for entry in model.opset_import:
        if entry.domain not in ("", "ai.onnx"):
            g.domains[entry.domain] = max(entry.version, g.domains.get(entry.domain, 0))
    return tuple(GraphValue(names[value.name]) for value in graph.output)


def _renamed(g: GraphBuilder, node: onnx.NodeProto, names: dict[str, str]) -> onnx.NodeProto:
    """A copy with the names of this scope; the names that it makes are added to the scope."""
    copy = onnx.NodeProto(op_type=node.op_type, domain="" if node.domain == "ai.onnx" else node.domain)
    copy.name = g.unique(g.prefix + (node.name or node.op_type))
    copy.input.extend(names[name] for name in node.input)
    for attribute in node.attribute:
        inner = copy.attribute.add()
        inner.CopyFrom(attribute)
        if attribute.HasField("g"):
            inner.g.CopyFrom(_renamed_graph(g, attribute.g, dict(names)))
        for position, graph in enumerate(attribute.graphs):
            inner.graphs[position].CopyFrom(_renamed_graph(g, graph, dict(names)))
    for name in node.output:
        if name:
            names[name] = g.unique(g.prefix + name)
        copy.output.append(names[name])
    return copy


def _renamed_graph(g: GraphBuilder, graph: onnx.GraphProto, names: dict[str, str]) -> onnx.GraphProto:
    """The body of an If, Loop or Scan: it sees the names around it, and its own are not seen outside."""
    copy = onnx.GraphProto(name=graph.name)
    for value in graph.input:
        names[value.name] = g.unique(g.prefix + value.name)
        copy.input.add().CopyFrom(value)
        copy.input[-1].name = names[value.name]
    for tensor in graph.initializer:
        names.setdefault(tensor.name, g.unique(g.prefix + tensor.name))
        copy.initializer.add().CopyFrom(tensor)
        copy.initializer[-1].name = names[tensor.name]
    copy.node.extend(_renamed(g, node, names) for node in graph.node)
    for value in graph.output:
        copy.output.add().CopyFrom(value)
        copy.output[-1].name = names[value.name]
    return copy
