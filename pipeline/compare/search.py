"""Search: the few nodes that have to stay in fp32, so that fp16 keeps the outputs.

Nodes are ranked by what each loses by itself, and those that feed a node which loses much come right behind it: their
outputs have to reach it unrounded. So many of the first are kept that the outputs are within the limits; then each is
tried without, and what is not needed goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ge_engine import weights
from ge_engine.half.alone import with_twins
from ge_engine.half.rewrite import Keep, emulated
from ge_engine.layers import CHUNK, layer_outputs
from ge_engine.single_file import LIMIT
from ops import Array

from .case import Case, compared
from .limits import Limits
from .lists import lists_of
from .measures import Measure, Sums
from .sides import GraphSide, HeldSide

MOST = 32  # nodes: a model that needs more is one for another precision
_ALL = 1 << 30  # nodes of a slice: where only the outputs are wanted, a graph runs as a whole


@dataclass(frozen=True)
class Step:
    """A node that is kept. loss: the relative Euclidean distance that it makes by itself, infinite where values
    overflow. without: the worst output with all others kept, and this one not; where all are not enough, with all.
    """

    node: str
    op_type: str
    loss: float
    without: Measure


@dataclass(frozen=True)
class Kept:
    """steps: the nodes that are to be kept. result: the worst output with all of them. enough: whether that is within
    the limits; where it is not, the steps are all that were tried. files: them as CANN reads it, by file name.
    """

    steps: tuple[Step, ...]
    result: Measure
    enough: bool
    files: Mapping[str, str]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(step.node for step in self.steps)


class _Tried(NamedTuple):
    departs: bool
    worst: Measure


class Search:
    """In one case, for one precision. say: told of what is tried."""

    def __init__(self, case: Case, precision: str, limits: Limits, say: Callable[[str], None]) -> None:
        self.case = case
        self.precision = precision
        self.limits = limits
        self.say = say
        heavy = sum(weights.nbytes(tensor) for tensor in case.graph.graph.initializer)
        self._chunk = _ALL if heavy < LIMIT else CHUNK
        own = GraphSide("origin", case.graph, chunk=self._chunk)
        self._wanted = HeldSide("origin", {id(feeds): dict(own.values(feeds, case.outputs)) for feeds in case.feeds})
        self._tried: dict[frozenset[str], _Tried] = {}

    def run(self) -> Kept:
        losses = self._losses()
        tried = self._ranked(losses)[:MOST]
        count = self._count(tried)
        kept = tried if count is None else self._needed(tried[:count])
        result = self._with(kept).worst
        types = {node.name: node.op_type for node in self.case.graph.graph.node}
        without = {node: result if count is None else self._without(node, kept).worst for node in kept}
        steps = tuple(Step(node, types[node], losses[node], without[node]) for node in kept)
        return Kept(steps, result, count is not None, lists_of(kept, self.case.graph))

    def _losses(self) -> dict[str, float]:
        """By node, what it loses by itself."""
        graph, twins = with_twins(self.case.graph, self.precision)
        sums = {name: Sums() for name in twins}
        fp32 = {twin: name for name, twin in twins.items()}
        for feeds in self.case.feeds:
            waiting: dict[str, Array] = {}
            for value in layer_outputs(graph, feeds, {*twins, *fp32}, chunk=64):
                if value.name in twins:
                    waiting[value.name] = value.array
                else:
                    name = fp32[value.name]
                    sums[name].add(waiting.pop(name), value.array)
        found: dict[str, float] = {}
        for node in self.case.graph.graph.node:
            measures = [sums[name].measure() for name in node.output if name in sums]
            if measures:
                found[node.name] = max(inf if measure.broken else measure.distance for measure in measures)
        return found

    def _ranked(self, losses: Mapping[str, float]) -> list[str]:
        makers = {name: node.name for node in self.case.graph.graph.node for name in node.output}
        nodes = self.case.graph.graph.node
        reads = {node.name: [makers[name] for name in node.input if name in makers] for node in nodes}
        order: dict[str, None] = {}
        for node in sorted(losses, key=lambda name: -losses[name]):
            order[node] = None
            if losses[node] > self.limits.distance:
                order.update((maker, None) for maker in reads[node] if maker in losses)
        return list(order)

    def _count(self, ranked: Sequence[str]) -> int | None:
        """How many of the first are enough; None where all are not."""
        low, high = 0, 1
        while self._with(ranked[:high]).departs:
            if high >= len(ranked):
                return None
            low, high = high, min(2 * high, len(ranked))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._with(ranked[:middle]).departs else (low, middle)
        return high

    def _needed(self, kept: Sequence[str]) -> list[str]:
        """Those without which the others are not enough; what loses least is tried first."""
        needed = list(kept)
        for node in reversed(kept):
            if not self._without(node, needed).departs:
                needed.remove(node)
        return needed

    def _without(self, node: str, kept: Sequence[str]) -> _Tried:
        return self._with([other for other in kept if other != node])

    def _with(self, kept: Sequence[str]) -> _Tried:
        """The outputs with these in fp32."""
        key = frozenset(kept)
        if key not in self._tried:
            graph = emulated(self.case.graph, self.precision, Keep(key))
            side = GraphSide(self.precision, graph, chunk=self._chunk)
            layers = [layer for layer in compared(self.case, self._wanted, side, self.case.outputs) if layer.is_judged]
            worst = max(
                (layer.measure for layer in layers if layer.measure), key=lambda one: (one.broken, one.distance)
            )
            self._tried[key] = _Tried(any(layer.departs(self.limits) for layer in layers), worst)
            count = f"{len(key)} node{'s' if len(key) != 1 else ''}"
            self.say(f"{self.case.name}: {count} in fp32: the worst output has {worst}")
        return self._tried[key]
