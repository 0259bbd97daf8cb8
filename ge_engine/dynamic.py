"""Dynamic: which tensors of a graph have no fixed shape, and which node is to blame."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import helper

from ops import TensorSpec

from . import runtime, weights
from .shapes import infer_strictly, is_fixed, shape_of

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
        values.update((value.name, value) for value in _asked(model, unknown))
    return {name: values.get(name, onnx.ValueInfoProto(name=name)) for name in (*values, *made)}


def _asked(model: onnx.ModelProto, names: list[str]) -> list[onnx.ValueInfoProto]:
    exposed = with_outputs(model, names)
    weights.detach(exposed)
    outputs = [value for value in runtime.session(exposed, threads=1).get_outputs() if value.name in names]
    return [
        helper.make_tensor_value_info(
            value.name,
            helper.np_dtype_to_tensor_dtype(TensorSpec(value.type, (1,)).numpy),
            [dim if isinstance(dim, int) else None for dim in value.shape],
        )
        for value in outputs
        if value.type.startswith("tensor(")
    ]


def with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """A copy that gives these tensors, too."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    there = {value.name for value in exposed.graph.output}
    exposed.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in there)
    return exposed


def dynamic_chains(model: onnx.ModelProto, values: Mapping[str, onnx.ValueInfoProto]) -> dict[str, Chain]:
    """For each tensor without a fixed shape: the nodes from the one that causes it to the one that makes it."""
    chains: dict[str, Chain] = {}
    for node in model.graph.node:
        for name in node.output:
            if name and not is_fixed(shape_of(values[name])):
                cause = next((chains[read] for read in node.input if read in chains), ())
                chains[name] = (*cause, node.name)
    return chains
