"""Place: what runs in a model's graph, and what on the host; so much as costs least.

A Model is on the device. An op may run before it in its graph if it can be lowered, its inputs are fixed, and all that
read it are in the graph; and behind it, if all that it reads is made there by one stage. Steps of different gears,
sizes or opsets cannot share a graph: they meet on the host.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Set
from typing import Any

from ge_engine.model import Model
from ops import Op
from ops.host_stage import Step
from ops.op import Lowerable

from ..costs import Costs, specs_of
from ..deployment import Deployment
from ..graph import Graph
from ..stages import Kin, Placement, components, levels
from .change import Change, within


def place(graph: Graph, deployment: Deployment) -> tuple[Graph, Placement, tuple[Change, ...]]:
    """The cheapest placement, and the graph without the outputs that no graph can make.

    Requires: nothing. Ensures: every Model is on the device, and what else is there can be lowered.
    """
    search = _Search(graph, deployment)
    placed, held = search.cheapest()
    steps = tuple(_without_bytes(step) if _moved(step, placed) else step for step in graph.steps)
    return dataclasses.replace(graph, steps=steps), placed, tuple(search.changes(placed, held))


def _moved(step: Step, placed: Placement) -> bool:
    return step.name in placed and not isinstance(step.op, Model)


def _takes_ops(kin: Kin) -> bool:
    """Whether an op can be lowered into the graph: that of a frozen model stands alone, under the step's own name."""
    return not isinstance(kin[1], str)


def _lowers_its_own_run(op: Op[Any]) -> bool:
    """Whether `lower` belongs to this `run`: a user's op that overrides run alone has inherited that of another."""
    return next("lower" in vars(cls) for cls in type(op).__mro__ if not vars(cls).keys().isdisjoint(("run", "lower")))


def _without_bytes(step: Step) -> Step:
    return dataclasses.replace(step, outputs=tuple(output for output in step.outputs if output[2].dtype != "bytes"))


class _Search:
    """Everything that may be on the device is, at first; then single ops are held back on the host while that pays."""

    def __init__(self, graph: Graph, deployment: Deployment) -> None:
        self.graph = graph
        self.deployment = deployment
        self.costs = Costs.of(deployment)
        self.specs = graph.specs
        self.readers = graph.consumers()
        self.shown = {output.key for output in graph.outputs}
        self.makers = {key: step for step in graph.steps for key, _, _ in step.outputs}

    def cheapest(self) -> tuple[Placement, frozenset[str]]:
        """The placement, and which ops are held on the host for it."""
        held: frozenset[str] = frozenset()
        best = self.placement(held)
        price = self.price(best)
        while True:
            options = [held | {step.name} for step in self.graph.steps if _moved(step, best)]
            tried = [(self.price(self.placement(option)), sorted(option)) for option in options]
            if not tried or min(tried)[0] >= price:
                return best, held
            price, names = min(tried)
            held = frozenset(names)
            best = self.placement(held)

    def placement(self, held: Set[str]) -> Placement:
        """What is on the device when these ops are held on the host."""
        kin: dict[str, Kin] = {}
        for step in reversed(self.graph.steps):
            if isinstance(step.op, Model):
                sizes = {(dim.name, dim.values) for key in step.inputs for dim in self.specs[key].graded}
                gears = self.deployment.gears_of(step.op.model_name)
                kin[step.name] = (gears, step.name if step.op.frozen else step.op.opset, tuple(sorted(sizes)))
            elif step.name not in held and self._can_be_lowered(step):
                keys = [key for key, _, _ in step.outputs]
                after = {kin.get(reader.name) for key in keys for reader in self.readers[key]}
                joined = next(iter(after)) if len(after) == 1 else None
                if joined is not None and _takes_ops(joined) and not self.shown.intersection(keys):
                    kin[step.name] = joined
        stage = {step.name: number for number, steps in enumerate(components(self.graph.steps, kin)) for step in steps}
        for step in self.graph.steps:
            if step.name in kin or step.name in held or not self._can_be_lowered(step):
                continue
            before = {self._stage_of(key, stage) for key in step.inputs if key not in self.graph.constants}
            if len(before) == 1 and None not in before:
                source = next(self.makers[key] for key in step.inputs if key in self.makers)
                if _takes_ops(kin[source.name]):
                    kin[step.name] = kin[source.name]
                    stage[step.name] = stage[source.name]
        return kin

    def _stage_of(self, key: str, stage: dict[str, int]) -> int | None:
        maker = self.makers.get(key)
        return None if maker is None else stage.get(maker.name)

    def _can_be_lowered(self, step: Step) -> bool:
        """With exact, to the same bytes; and no more is made of it than a graph can hold."""
        if not isinstance(step.op, Lowerable) or not _lowers_its_own_run(step.op):
            return False
        if self.deployment.exact and step.op.lowered_within != 0:
            return False
        used = [spec for key, _, spec in step.outputs if key in self.shown or self.readers[key]]
        return all(spec.is_fixed for spec in (*(self.specs[key] for key in step.inputs), *used))

    def price(self, placed: Placement) -> float:
        """Of one sample: the ops, the bytes that cross, and the host stages."""
        total = self.costs.stage * self._host_stages(placed)
        for step in self.graph.steps:
            if not isinstance(step.op, Model):
                cost = self.costs.in_graph if step.name in placed else self.costs.on_host
                total += cost(step.op, specs_of(step, self.specs))
        return total + sum(self.costs.crossing(self.specs[key]) for key in self._crossing(placed))

    def _crossing(self, placed: Placement) -> list[str]:
        """The values that go to the device, or come back."""
        found = []
        for key, readers in self.readers.items():
            if key in self.graph.constants:
                continue
            there = key in self.makers and self.makers[key].name in placed
            others = {reader.name in placed for reader in readers} | ({False} if key in self.shown else set())
            if (not there) in others:
                found.append(key)
        return found

    def changes(self, placed: Placement, held: frozenset[str]) -> Iterator[Change]:
        """For ops in a row that are in one graph together: what it would be without them."""
        moved = {step.name: placed[step.name] for step in self.graph.steps if _moved(step, placed)}
        for steps in components(self.graph.steps, moved):
            yield self._change(steps, placed, held)

    def _change(self, steps: list[Step], placed: Placement, held: frozenset[str]) -> Change:
        without = self.placement(held | {step.name for step in steps})
        before, after = self._border(without, placed), self._border(placed, without)
        tolerances = [step.op.lowered_within for step in steps]
        fewer = self._host_stages(without) - self._host_stages(placed)
        saved = self._nbytes(without) - self._nbytes(placed)
        saved_us = (self.price(without) - self.price(placed)) / 1e3
        return Change(
            "place",
            ", ".join(step.name for step in steps),
            steps[0].where,
            f"on the host, {before}",
            f"in the graph, {after}",
            saved,
            within(None if None in tolerances else max(filter(None, tolerances), default=0.0)),
            f"{'a host stage less; ' if fewer else ''}{self.costs.reason(saved, saved_us)}",
        )

    def _border(self, placed: Placement, other: Placement) -> str:
        """What crosses here and not there."""
        there = self._crossing(other)
        found = [f"{key} {self.specs[key]}" for key in self._crossing(placed) if key not in there]
        return f"{', '.join(found) or 'nothing else'} crosses"

    def _nbytes(self, placed: Placement) -> int:
        return sum(self.specs[key].nbytes or 0 for key in self._crossing(placed))

    def _host_stages(self, placed: Placement) -> int:
        return len({level for level in levels(self.graph, placed).values() if level % 2 == 0})
