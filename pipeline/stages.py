"""Stages: the steps that run together, and in what order.

Which steps are on the device is decided before (passes/place.py). The level of a step is the largest number of changes
between host and device on any path to it; so host stages have even levels and device stages odd ones. A host stage is
all host steps of a level; a device stage is one connected component of the device steps of a level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ge_engine.model import Model
from ops import TensorSpec
from ops.host_stage import Step
from ops.unique import unique

from .deployment import Batches
from .graph import Graph
from .names import usable

Kin = tuple[object, ...]  # what device steps must have in common to share a graph: gears, opset, sizes
Placement = Mapping[str, Kin]  # the steps on the device, by name


@dataclass(frozen=True)
class Stage:
    """Steps that run together: one composing model of the ensemble.

    inputs and outputs: the keys that cross its border, with their specs. batches: the gears (device stages only).
    """

    name: str
    placement: str
    level: int
    steps: tuple[Step, ...]
    inputs: tuple[tuple[str, TensorSpec], ...]
    outputs: tuple[tuple[str, TensorSpec], ...]
    batches: Batches = ()

    @property
    def on_device(self) -> bool:
        return self.placement == "device"


def partition(graph: Graph, kin: Placement) -> tuple[Stage, ...]:
    """The stages of a graph, in the order in which they run."""
    level = levels(graph, kin)
    stages: list[Stage] = []
    for current in range(max(level.values(), default=0) + 1):
        here = [step for step in graph.steps if level[step.name] == current]
        taken = [stage.name for stage in stages]
        if current % 2 == 0:
            if here:
                stages.append(_stage(graph, unique(f"host{current}", taken), "host", current, here))
            continue
        for component in components(here, kin):
            models = [usable(step.op.model_name) for step in component if isinstance(step.op, Model)]
            name = unique("_".join(dict.fromkeys(models)), taken)
            taken.append(name)
            batches = kin[component[-1].name][0]
            assert isinstance(batches, tuple)
            stages.append(_stage(graph, name, "device", current, component, batches))
    return tuple(stages)


def levels(graph: Graph, kin: Placement) -> dict[str, int]:
    """For each step, the largest number of changes between host and device on any path to it."""
    made_by = {key: step for step in graph.steps for key, _, _ in step.outputs}
    level: dict[str, int] = {}
    for step in graph.steps:
        mine = kin.get(step.name)
        options = [0 if mine is None else 1]
        for source in (made_by[key] for key in step.inputs if key in made_by):
            theirs = kin.get(source.name)
            switches = 0 if theirs == mine else 1 if None in (theirs, mine) else 2
            options.append(level[source.name] + switches)
        level[step.name] = max(options)
    return level


def components(steps: Sequence[Step], kin: Placement) -> Iterator[list[Step]]:
    """The steps that are on the device, joined by an edge (of one kin); each component in topological order."""
    made_by = {key: step.name for step in steps for key, _, _ in step.outputs if step.name in kin}
    component: dict[str, int] = {}  # of each step so far, by the place of its first step
    for place, step in enumerate(steps):
        if step.name in kin:
            sources = (made_by[key] for key in step.inputs if key in made_by)
            joined = {component[source] for source in sources if kin[source] == kin[step.name]}
            component[step.name] = first = min(joined, default=place)
            component.update((name, first) for name, old in component.items() if old in joined)
    for first in sorted(set(component.values())):
        yield [step for step in steps if component.get(step.name) == first]


def paired(stages: Sequence[Stage]) -> Iterator[tuple[Stage | None, tuple[Stage, ...]]]:
    """In the order in which they run: a host stage, where there is one, and the device stages that follow it."""
    for level in range(0, max((stage.level for stage in stages), default=0) + 1, 2):
        host = next((stage for stage in stages if stage.level == level), None)
        yield host, tuple(stage for stage in stages if stage.level == level + 1)


def _stage(graph: Graph, name: str, placement: str, level: int, steps: list[Step], batches: Batches = ()) -> Stage:
    specs = graph.specs
    inside = {step.name for step in steps}
    made = [key for step in steps for key, _, _ in step.outputs]
    read = dict.fromkeys(key for step in steps for key in step.inputs if key not in made)
    readers = graph.consumers()
    wanted = {output.key for output in graph.outputs}
    leaving = [key for key in made if key in wanted or any(reader.name not in inside for reader in readers[key])]
    return Stage(
        name,
        placement,
        level,
        tuple(steps),
        tuple((key, specs[key]) for key in read if key not in graph.constants),
        tuple((key, specs[key]) for key in leaving),
        batches,
    )
