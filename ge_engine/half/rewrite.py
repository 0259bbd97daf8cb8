"""Rewrite: a graph in fp32 becomes one that rounds to fp16 where GE would.

Rounding is a Cast to FLOAT16 and one back: to nearest even, subnormals kept, beyond 65504 an infinity. A rounded
tensor keeps its name, so the two graphs can be compared tensor by tensor. Weights are rounded in the graph too, and so
once, when a runtime loads it and folds what is constant: they stay in the file where they are.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

from ops.unique import unique

from ..dynamic import values_of
from .kernels import Kind, data_inputs, kind_of
from .precision import CUBE, FP16, mode_of


@dataclass(frozen=True)
class Keep:
    """Nodes that stay in fp32, as a black list has them: by their own name, or by ONNX's operator."""

    names: frozenset[str] = frozenset()
    op_types: frozenset[str] = frozenset()

    def __contains__(self, node: object) -> bool:
        assert isinstance(node, onnx.NodeProto)
        return node.name in self.names or node.op_type in self.op_types


def emulated(model: onnx.ModelProto, precision: str, keep: Keep = Keep()) -> onnx.ModelProto:  # frozen
    """A copy that computes as GE does in this precision: FP16 or CUBE, by any of their names.

    Inputs and outputs keep their dtypes. Nodes inside If, Loop and Scan are left alone, as GE registers none of these.
    Errors: what onnx raises when the shapes of the graph do not fit together.
    """
    mode = mode_of(precision)
    assert mode in (FP16, CUBE), precision
    result = deepcopy(model)
    rewriter = Rewriter(result, cube_only=mode == CUBE, keep=keep)
    for node in list(result.graph.node):
        rewriter.add(node)
    rewriter.end()
    return result


class Rewriter:
    """The nodes of a graph, added anew one by one in their order."""

    def __init__(self, model: onnx.ModelProto, cube_only: bool, keep: Keep) -> None:
        self.graph = model.graph
        self.cube_only = cube_only
        self.keep = keep
        values = values_of(model)
        self.floats = {name for name, value in values.items() if value.type.tensor_type.elem_type == TensorProto.FLOAT}
        self.floats |= {tensor.name for tensor in self.graph.initializer if tensor.data_type == TensorProto.FLOAT}
        self.taken = {*values, *(tensor.name for tensor in self.graph.initializer)}
        self.taken |= {node.name for node in self.graph.node}
        self.half: dict[str, str] = {}  # by tensor, the one with its values rounded; itself where they are
        self.nodes: list[onnx.NodeProto] = []

    def add(self, node: onnx.NodeProto) -> None:
        """A node, with the rounding of what it reads and makes."""
        kind = self.kind_of(node)
        if kind is not Kind.WIDE:
            self.round_inputs(node)
        wide = list(node.output)
        if kind is Kind.MOVES:
            self.half.update((name, name) for name in node.output)
        elif kind is Kind.VECTOR or (kind is Kind.CUBE and not self.cube_only):
            node.output[:] = [self.unique(f"{name}.fp32") if name in self.floats else name for name in wide]
        self.nodes.append(node)
        for before, name in zip(node.output, wide):
            if before != name:
                self.round(before, name)
                self.half[name] = name

    def end(self) -> None:
        """Put what was added in place of the nodes that were there."""
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)

    def kind_of(self, node: onnx.NodeProto) -> Kind:
        kind = kind_of(node)
        if node in self.keep or (self.cube_only and kind is not Kind.CUBE):
            return Kind.WIDE
        return kind

    def round_inputs(self, node: onnx.NodeProto) -> None:
        data = set(data_inputs(node)) & self.floats
        for name in sorted(data - self.half.keys()):
            self.half[name] = self.unique(f"{name}.fp16")
            self.round(name, self.half[name])
        node.input[:] = [self.half[name] if name in data else name for name in node.input]

    def round(self, wide: str, name: str) -> None:
        """Write the two Casts from one tensor to another."""
        between = self.unique(f"{name}.half")
        for source, target, dtype in ((wide, between, TensorProto.FLOAT16), (between, name, TensorProto.FLOAT)):
            label = self.unique(f"{target}.cast")
            self.nodes.append(helper.make_node("Cast", [source], [target], name=label, to=dtype))

    def unique(self, name: str) -> str:
        free = unique(name, self.taken)
        self.taken.add(free)
        return free
