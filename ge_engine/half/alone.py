"""Alone: what each node of a graph loses by itself, whatever is lost before it."""

from __future__ import annotations

from copy import deepcopy

import onnx

from .kernels import Kind
from .precision import CUBE, mode_of
from .rewrite import Keep, Rewriter


def with_twins(model: onnx.ModelProto, precision: str) -> tuple[onnx.ModelProto, dict[str, str]]:
    """A copy with a twin of each node beside it, in that precision, which reads what the node reads in fp32; by each
    tensor in fp32, the twin's. Nodes that the precision leaves alone have none.
    """
    result = deepcopy(model)
    rewriter = Rewriter(result, cube_only=mode_of(precision) == CUBE, keep=Keep())
    twins: dict[str, str] = {}
    for node in list(result.graph.node):
        rewriter.nodes.append(node)
        if rewriter.kind_of(node) is Kind.WIDE:
            continue
        twin = deepcopy(node)
        twin.name = rewriter.unique(f"{node.name}.alone")
        twin.output[:] = [name and rewriter.unique(f"{name}.alone") for name in node.output]
        own = {name: other for name, other in zip(node.output, twin.output) if name in rewriter.floats}
        rewriter.floats.update(own.values())
        twins.update(own)
        rewriter.add(twin)
    rewriter.end()
    return result, twins
