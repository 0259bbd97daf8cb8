"""Frozen facts: what a frozen TensorFlow graph says of itself. OpenVINO knows more of its outputs."""

from __future__ import annotations

import os
from collections import Counter

from ops import ModelError

from ..tensorflow.graph_def import read_graph_def
from ..tensorflow.skeleton import read_frozen
from .file_facts import FileFacts, Port, port_of

UNTOLD = "?"  # the type of an output that nobody here knows

# TensorFlow's names: what loops and branches are made of, and what gives as many rows as the data want.
FROZEN_FLOW = frozenset(
    {"Enter", "Exit", "If", "LoopCond", "Merge", "NextIteration", "StatelessIf", "StatelessWhile", "Switch", "While"}
)
FROZEN_BY_DATA = frozenset({"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "Unique", "Where"})


def frozen_facts(path: str) -> FileFacts:
    """The facts of a .pb. Errors: ModelError, as read_graph_def."""
    source = read_graph_def(path)
    values = source.outputs(())
    inputs = tuple(
        Port(name, dtype or "unknown", None if dims is None else tuple("" if dim < 0 else dim for dim in dims))
        for name, dtype, dims in source.placeholders(values)
    )
    nbytes = os.path.getsize(path)
    return FileFacts(
        path,
        nbytes,
        ir=0,
        opset=0,
        domains={},
        producer="TensorFlow",
        inputs=inputs,
        outputs=_outputs(path, values),
        operators=Counter(sorted(node.op for node in source.nodes.values())),
        num_functions=0,
        weights=nbytes,  # as good as all of the file
        largest_weight=("", 0),
        data_files=(),
        metadata={},
    )


def _outputs(path: str, values: tuple[str, ...]) -> tuple[Port, ...]:
    try:
        skeleton = read_frozen(path)
    except ModelError:  # without OpenVINO, or for what OpenVINO does not read
        return tuple(Port(value, UNTOLD, None) for value in values)
    return tuple(port_of(value, None) for value in skeleton.model.graph.output)
