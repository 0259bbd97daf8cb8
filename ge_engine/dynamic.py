"""Dynamic: which tensors of a graph have no fixed shape, and which node is to blame."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from .shapes import ask_runtime, infer_strictly, is_fixed, shape_of

Chain = tuple[str, ...]


def values_of(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """Type and shape of every input and value of the main graph, as far as they are known.

    ONNX Runtime is asked where ONNX does not know the operator.
    Errors: what onnx raises when two shapes do not fit together.
    """
    graph = infer_strictly(model).graph
    values = {value.name: value for value in (*graph.input, *graph.value_info, *graph.output)}
    made = [name for node in model.graph.node for name in node.output if name]
    if any(node.domain for node in model.graph.node):
        unknown = [name for name in made if name not in values or not is_fixed(shape_of(values[name]))]
        values.update((value.name, value) for value in ask_runtime(model, unknown))
    return {name: values.get(name, onnx.ValueInfoProto(name=name)) for name in (*values, *made)}


def dynamic_chains(model: onnx.ModelProto, values: Mapping[str, onnx.ValueInfoProto]) -> dict[str, Chain]:
    """For each tensor without a fixed shape: the nodes from the one that causes it to the one that makes it."""
    chains: dict[str, Chain] = {}
    behind: dict[str, Chain] = {}  # all that is computed from one: its size, too, which may be the size of another
    for node in model.graph.node:
        before = [known[read] for known in (chains, behind) for read in node.input if read in known]
        chain = (*(before[0] if before else ()), node.name)
        open_names = [name for name in node.output if name and not is_fixed(shape_of(values[name]))]
        chains.update(dict.fromkeys(open_names, chain))
        if before or open_names:
            behind.update(dict.fromkeys(filter(None, node.output), chain))
    return chains
