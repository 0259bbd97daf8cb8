"""Meaning: what a model's graph says of the numbers that it takes and gives, beyond their specs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx

_PROBABILITIES = ("Softmax", "Sigmoid")
_MOVES = ("Identity", "Reshape", "Flatten", "Squeeze", "Cast")  # what leaves the numbers as they are
_MOVES_IDS = (*_MOVES, "Unsqueeze", "Transpose", "Expand")
_MOVES_TABLE = ("Identity", "Cast", "DequantizeLinear")
_SCALES_TABLE = ("Mul", "Div", "Add", "Sub")  # how exporters write a quantized one


class Table(NamedTuple):
    """What an input of ids picks rows of."""

    name: str
    rows: int


def probabilities_by(graph: onnx.GraphProto, output: str) -> str:
    """The operator that makes probabilities of an output, behind what only moves them; "" where none does."""
    makers = {name: node for node in graph.node for name in node.output}
    node = makers.get(output)
    while node is not None and node.op_type in _MOVES and node.input:
        node = makers.get(node.input[0])
    return node.op_type if node is not None and node.op_type in _PROBABILITIES else ""


def id_tables(graph: onnx.GraphProto) -> dict[str, Table]:
    """For each input whose numbers are ids as they are, the smallest table that they are looked up in."""
    origin = {value.name: value.name for value in graph.input}
    shapes = {tensor.name: (tensor.name, tuple(tensor.dims)) for tensor in graph.initializer}
    found: dict[str, Table] = {}
    for node in graph.node:  # sorted: what a node reads is made before it
        first = node.input[0] if node.input else ""
        if node.op_type in _MOVES_IDS and first in origin:
            origin[node.output[0]] = origin[first]
        if node.op_type in _MOVES_TABLE and first in shapes:
            shapes[node.output[0]] = shapes[first]
        elif node.op_type in _SCALES_TABLE and all(name in shapes for name in node.input):
            dims = np.broadcast_shapes(*(shapes[name][1] for name in node.input))
            shapes[node.output[0]] = (shapes[first][0], dims)
        elif node.op_type == "Constant":
            for attribute in (a for a in node.attribute if a.name == "value"):
                shapes[node.output[0]] = (node.output[0], tuple(attribute.t.dims))
        elif node.op_type == "Gather" and first in shapes and node.input[1] in origin:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            name, dims = shapes[first]
            ids = origin[node.input[1]]
            if ids not in found or dims[axis] < found[ids].rows:
                found[ids] = Table(name, dims[axis])
    return found
