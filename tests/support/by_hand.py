"""A pipeline without a compiler: each op's own run, and each model in a session of its own, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ops.op import by_output
from pipeline.graph import Graph


def run_by_hand(graph: Graph, sample: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one sample."""
    values = {**graph.constants, **sample}
    for step in graph.steps:
        named = by_output(step.op, step.op.run(*(values[key] for key in step.inputs)))
        values.update((key, named[name]) for key, name, _ in step.outputs)
    return {output.name: values[output.key] for output in graph.outputs}
