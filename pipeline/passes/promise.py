"""Promise: what every pass keeps."""

from __future__ import annotations

from ge_engine.model import Model
from ops.op import by_output

from ..graph import Graph


def assert_kept(before: Graph, after: Graph) -> None:
    """The same inputs and outputs, in an order that can run, each step the user's own, and what it makes as inferred.

    A pass that breaks it is our mistake, never the user's.
    """
    assert after.inputs == before.inputs
    assert after.constants is before.constants
    outputs = [[(output.name, output.where, output.spec) for output in graph.outputs] for graph in (before, after)]
    assert outputs[0] == outputs[1]
    declared = {(step.name, step.where) for step in before.steps}
    names = [(step.name, step.where) for step in after.steps]
    assert len(set(names)) == len(names)
    assert declared.issuperset(names)
    specs = {value.name: value.spec for value in after.inputs}
    specs |= {name: after.specs[name] for name in after.constants}
    for step in after.steps:
        given = [specs[key] for key in step.inputs]  # a KeyError is a step before its time
        if not isinstance(step.op, Model):
            made = by_output(step.op, step.op.infer(*given))
            assert all(made[name] == spec for _, name, spec in step.outputs), step.place
        specs.update((key, spec) for key, _, spec in step.outputs)
    assert all(specs[output.key] == output.spec for output in after.outputs)
