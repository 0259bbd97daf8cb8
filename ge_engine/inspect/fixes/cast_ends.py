"""Cast ends: inputs and outputs of types that npu_ge does not read from a file become ones that it does."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from ops.spec import canonical_dtype
from ops.unique import unique

from .case import Case, names_of, rename_made, rename_reads

# Each value of a type has its own in the other; of float64, those that a client sends as float32.
INSTEAD: dict[int, int] = {
    TensorProto.DOUBLE: TensorProto.FLOAT,
    TensorProto.FLOAT16: TensorProto.FLOAT,
    TensorProto.BFLOAT16: TensorProto.FLOAT,
    TensorProto.BOOL: TensorProto.UINT8,
    TensorProto.UINT32: TensorProto.INT64,
}


def cast_ends(model: onnx.ModelProto, case: Case) -> list[str]:
    """A Cast behind such an input and before such an output; the names stay."""
    graph = model.graph
    names = names_of(graph)
    done = []
    for kind, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            before = value.type.tensor_type.elem_type
            after = INSTEAD.get(before)
            if after is None:
                continue
            inner = unique(f"{value.name}_inner", names)
            names.add(inner)
            if kind == "input":
                rename_reads(graph, value.name, inner)
                node = helper.make_node("Cast", [value.name], [inner], name=f"{inner}_cast", to=before)
                graph.node.insert(0, node)
            else:
                rename_made(graph, value.name, inner)
                graph.node.append(helper.make_node("Cast", [inner], [value.name], name=f"{inner}_cast", to=after))
            value.type.tensor_type.elem_type = after
            done.append(f"{kind} '{value.name}' was {canonical_dtype(before)}: now {canonical_dtype(after)}")
    return done
