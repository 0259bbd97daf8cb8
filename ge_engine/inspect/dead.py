"""Dead: outputs that do not come from the inputs, and nodes and weights that lead to no output."""

from __future__ import annotations

from collections import Counter

import onnx

from ..skeleton import graphs
from ..weights import used_names


def dead_outputs(graph: onnx.GraphProto) -> dict[str, str]:
    """For each output that could be left out, why. None where every output is such: the graph has no inputs."""
    makers = {name: node for node in graph.node for name in node.output if name}
    inputs = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    reached = _reached(graph, inputs)
    count = Counter(value.name for value in graph.output)
    found = {}
    for name, times in count.items():
        if times > 1:
            found[name] = f"is listed {times} times"
        elif name not in makers:
            found[name] = "is an input or a weight, which no node makes"
        elif name not in reached:
            found[name] = "is the same for every sample"
    alive = set(count) - set(found) | {name for name in found if count[name] > 1}
    return found if alive else {}


def dead_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The nodes of the main graph that no output needs."""
    needed = {value.name for value in graph.output}
    dead = []
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            dead.append(node)
        else:
            needed |= used_names(onnx.GraphProto(node=[node]))
    return dead[::-1]


def unused_weights(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    """The initializers of the main graph that nothing reads."""
    used = used_names(graph)
    return [tensor for tensor in graph.initializer if tensor.name not in used]


_RANDOM = {"RandomNormal", "RandomUniform", "Multinomial", "Bernoulli", "RandomNormalLike", "RandomUniformLike"}


def _reached(graph: onnx.GraphProto, inputs: set[str]) -> set[str]:
    """The values that depend on an input, or on chance."""
    reached = set(inputs)
    for node in graph.node:
        reads = used_names(onnx.GraphProto(node=[node]))
        inner = [one for part in graphs(onnx.GraphProto(node=[node])) for one in part.node]
        if not reached.isdisjoint(reads) or any(one.op_type in _RANDOM for one in inner):
            reached.update(name for name in node.output if name)
    return reached
