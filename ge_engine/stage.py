"""What is built, and what comes of it: StageGraph, StaticGraph, Graphs, BuiltStage, Made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ops import Array, Finding, TensorSpec
from ops.host_stage import Step

from .gears import Gear, Gears
from .half.precision import ORIGIN, emulates, on_cpu
from .model_file import FROZEN

if TYPE_CHECKING:
    from .dynamic import Chain

Tensors = tuple[tuple[str, str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class StageGraph:
    """What to build: one device stage.

    steps: in topological order; keys are tensor names, unique in the stage. inputs, outputs: key and spec of one
    sample, in order. constants: keys that steps read and that are the same for every sample, without a batch axis.
    precision: of precision_mode_v2. The graphs that are built are the same; a CPU emulates it (see half).
    """

    name: str
    steps: tuple[Step, ...]
    inputs: tuple[tuple[str, TensorSpec], ...]
    outputs: tuple[tuple[str, TensorSpec], ...]
    constants: Mapping[str, Array]
    precision: str = ORIGIN


@dataclass(frozen=True)
class StaticGraph:
    """One gear's graph: an ONNX file whose every dim is fixed. Inputs and outputs are named by the stage's keys.

    inputs, outputs: name, numpy's dtype, whole shape. A -1 stands for a dim that the data decides (see dynamic).
    """

    gear: Gear
    path: str
    inputs: Tensors
    outputs: Tensors


@dataclass(frozen=True)
class Graphs:
    """A stage's graphs, and what was found out about them.

    static: one graph for each gear. shared: for the sizes of a gear, a graph that serves every batch size; empty where
    there is none. shared_deviation: 0.0 when each static graph gave the same bytes as the shared one, else the largest
    relative difference; None where nothing is shared. mixing_node: the node that makes rows depend on each other, if
    one does: then there is no padding and no merging. dynamic: tensors whose shape stays open in some gear, each with
    the chain of nodes from the one that causes it.
    """

    static: Mapping[Gear, StaticGraph]
    shared: Mapping[tuple[tuple[str, int], ...], str]
    shared_deviation: float | None
    mixing_node: str | None
    dynamic: tuple[tuple[str, Chain], ...]

    @property
    def frozen(self) -> bool:
        """Whether they are TensorFlow graphs."""
        return any(graph.path.endswith(FROZEN) for graph in self.static.values())


@dataclass(frozen=True)
class BuiltStage(Graphs):
    """The graphs of which stage, in which gears, and what is to be said of them."""

    graph: StageGraph
    gears: Gears
    findings: tuple[Finding, ...]

    @property
    def emulated(self) -> bool:
        """Whether a CPU runs other graphs than these, for the stage's precision; TensorFlow's are not rewritten."""
        return emulates(self.graph.precision) and not self.frozen

    def on_cpu(self, path: str) -> str:
        """What a CPU runs in place of one of the graphs: itself, unless the precision is emulated."""
        return path if self.frozen else on_cpu(path, self.graph.precision) if self.emulated else path


@dataclass(frozen=True)
class Found:
    """A finding of the build, at one of the stage's steps: the declaration says where that is."""

    step: int
    rule: str
    message: str
    fix: str


@dataclass(frozen=True)
class Made(Graphs):
    """The graphs as the build leaves them, and a cache keeps them: whoever declares the same stage gets the same."""

    found: tuple[Found, ...]

    def built(self, graph: StageGraph, gears: Gears, notes: Iterable[Finding]) -> BuiltStage:
        """With what it was made from. notes: findings that are there already."""
        findings = [
            Finding(found.rule, "advice", graph.steps[found.step].where, found.message, found.fix)
            for found in self.found
        ]
        return BuiltStage(
            self.static,
            self.shared,
            self.shared_deviation,
            self.mixing_node,
            self.dynamic,
            graph,
            gears,
            (*notes, *findings),
        )
