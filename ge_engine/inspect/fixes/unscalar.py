"""Unscalar: inputs and outputs of rank 0 become [1]: npu_ge and Triton have no scalars."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ops.unique import unique

from ...shapes import set_shape, shape_of
from .case import Case, names_of, rename_made, rename_reads


def unscalar(model: onnx.ModelProto, case: Case) -> list[str]:
    """A Reshape behind such an input and before such an output; the names stay."""
    graph = model.graph
    names = names_of(graph)
    done = []

    def free(name: str) -> str:
        names.add(found := unique(name, names))
        return found

    for kind, values in (("input", graph.input), ("output", graph.output)):
        for value in (value for value in values if shape_of(value) == ()):
            inner, target = free(f"{value.name}_scalar"), free(f"{value.name}_shape")
            wanted = np.array([] if kind == "input" else [1], np.int64)
            graph.initializer.append(numpy_helper.from_array(wanted, target))
            if kind == "input":
                rename_reads(graph, value.name, inner)
                node = helper.make_node("Reshape", [value.name, target], [inner], name=f"{inner}_reshape")
                graph.node.insert(0, node)
            else:
                rename_made(graph, value.name, inner)
                graph.node.append(helper.make_node("Reshape", [inner, target], [value.name], name=f"{inner}_reshape"))
            set_shape(value, (1,))
            done.append(f"{kind} '{value.name}', a scalar: now [1]")
    return done
