"""Made constant: the nodes of a graph that static shapes make constant, and so are gone when it is folded."""

from __future__ import annotations

from collections import Counter

import onnx

from ..weights import used_names

_NOTHING = ("Constant", "Identity", "Dropout")  # a runtime leaves them out; they cost nothing
_MEASURES = ("Shape", "Size")  # they read no values, only how many there are


def made_constant(before: onnx.ModelProto, after: onnx.ModelProto) -> Counter[str]:
    """How many nodes of each type. What folding fuses or writes in another way is gone, too, and none of them."""
    left = {name for node in after.graph.node for name in node.output} - {""}
    known = {tensor.name for tensor in before.graph.initializer}  # by weights and shapes alone
    count: Counter[str] = Counter()
    for node in before.graph.node:
        reads = used_names(onnx.GraphProto(node=[node])) - {""}
        if node.op_type not in _MEASURES and not reads <= known:
            continue
        known.update(node.output)
        if node.op_type not in _NOTHING and left.isdisjoint(node.output):
            count[node.op_type] += 1
    return count
