"""Rewrite: a graph with some of its steps changed. A value is named by the step that makes it, before and after."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ops import Op, TensorSpec
from ops.host_stage import Step
from ops.op import by_output

from ..graph import Graph


def maker(graph: Graph, key: str) -> Step | None:
    """The step that makes a value; None for an input or a constant."""
    return next((step for step in graph.steps if any(key == made for made, _, _ in step.outputs)), None)


def only_reader(graph: Graph, key: str) -> Step | None:
    """The one step that reads a value; None where there are more, or a pipeline output shows it."""
    readers = graph.consumers()[key]
    shown = any(output.key == key for output in graph.outputs)
    return readers[0] if len(readers) == 1 and not shown else None


def remade(step: Step, op: Op[Any], inputs: Sequence[str], specs: Mapping[str, TensorSpec]) -> Step:
    """The step with another op or other inputs; what it makes is inferred again."""
    made = by_output(op, op.infer(*(specs[key] for key in inputs)))
    outputs = tuple((key, name, made[name]) for key, name, _ in step.outputs)
    return dataclasses.replace(step, op=op, inputs=tuple(inputs), outputs=outputs)


def reading(step: Step, keys: Mapping[str, str]) -> Step:
    """The step, reading other values of the same specs."""
    inputs = tuple(keys.get(key, key) for key in step.inputs)
    return step if inputs == step.inputs else dataclasses.replace(step, inputs=inputs)


def rebuilt(graph: Graph, steps: Iterable[Step], keys: Mapping[str, str]) -> Graph:
    """The graph of these steps, in an order that can run.

    keys: what the outputs show instead of a value that is gone.
    """
    outputs = tuple(dataclasses.replace(output, key=keys.get(output.key, output.key)) for output in graph.outputs)
    there = {value.name for value in graph.inputs} | set(graph.constants)
    waiting, placed = list(steps), []
    while waiting:
        step = next(step for step in waiting if there.issuperset(step.inputs))
        waiting.remove(step)
        placed.append(step)
        there.update(key for key, _, _ in step.outputs)
    return dataclasses.replace(graph, steps=tuple(placed), outputs=outputs)
