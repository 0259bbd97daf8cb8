"""Drawing: what is to be seen of a pipeline, before anything is said of where on the paper it stands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ops import TensorSpec
from ops.host_stage import Step

from ..graph import Graph
from ..stages import Stage
from .times import Times

if TYPE_CHECKING:
    from ..plan import Plan

Kind = Literal["input", "output", "constant", "host", "device"]
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


@dataclass(frozen=True)
class Box:
    """A node. title: its op; name: its own; hint: more to say. frame: the one that it stands in, or ""."""

    id: str
    kind: Kind
    title: str
    name: str
    hint: str = ""
    time: str = ""
    frame: str = ""
    band: int = 1


@dataclass(frozen=True)
class Wire:
    """A value: the box that makes it, and those that read it. nbytes: as text, where it crosses a border."""

    key: str
    source: str
    targets: tuple[str, ...]
    label: str
    nbytes: str


@dataclass(frozen=True)
class Frame:
    """A stage. lines: what is said of it, besides its name. band: stages of one band stand side by side."""

    name: str
    placement: str
    band: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """Boxes, joined by wires, in frames. title, summary: for those who hear it."""

    title: str
    summary: str
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    frames: tuple[Frame, ...] = ()

    @classmethod
    def of(cls, plan: Plan, times: Times | None = None) -> Drawing:
        """Every node of a plan, in the frame of its stage. times: of a trace."""
        return _PlanDrawer(plan.graph, plan.stages, times).drawing(_frames(plan, times))

    @classmethod
    def of_stages(cls, plan: Plan, times: Times | None = None) -> Drawing:
        """Each stage as one box: what an export makes of it."""
        frames = _frames(plan, times)
        whole = _PlanDrawer(plan.graph, plan.stages, times).drawing(frames)
        boxes = [_box_of(stage, frame) for stage, frame in zip(plan.stages, frames)]
        inside = {box.id: f"s:{box.frame}" if box.frame else box.id for box in whole.boxes if box.kind != "constant"}
        wires = []
        for wire in whole.wires:
            source = inside.get(wire.source)
            targets = tuple(dict.fromkeys(inside[target] for target in wire.targets if inside[target] != source))
            if source and targets:
                wires.append(Wire(wire.key, source, targets, wire.label, wire.nbytes))
        outer = [box for box in whole.boxes if box.kind in ("input", "output")]
        return cls(whole.title, whole.summary, (*outer, *boxes), tuple(wires))

    @classmethod
    def of_graph(cls, graph: Graph) -> Drawing:
        """A graph that has not been cut into stages."""
        return _PlanDrawer(graph, (), None).drawing(())


def bytes_text(nbytes: int | None) -> str:
    """As a person reads it.

    >>> bytes_text(1_228_800), bytes_text(12), bytes_text(None)
    ('1.23 MB', '12 B', 'size varies')
    """
    if nbytes is None:
        return "size varies"
    for unit, size in _UNITS:
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes} B"


def short(where: str) -> str:
    """A place without its folder: a picture is shown to others."""
    return os.path.basename(where)


def _frames(plan: Plan, times: Times | None) -> tuple[Frame, ...]:
    frames = []
    for stage in plan.stages:
        built = plan.built.get(stage.name)
        lines = [stage.placement]
        if built is not None:
            lines.append(f"gear{'s' if len(built.gears) > 1 else ''} {','.join(map(str, built.gears))}")
        if times is not None and stage.name in times.stages:
            lines.append(f"{times.stages[stage.name]} a run")
        frames.append(Frame(stage.name, stage.placement, 1 + stage.level, tuple(lines)))
    return tuple(frames)


def _box_of(stage: Stage, frame: Frame) -> Box:
    kind: Kind = "device" if stage.on_device else "host"
    count = f"{len(stage.steps)} node{'s' if len(stage.steps) > 1 else ''}"
    time = next((line for line in frame.lines if line.endswith(" a run")), "")
    said = "; ".join((stage.placement, count, *(line for line in frame.lines[1:] if line != time)))
    hint = ", ".join(step.name for step in stage.steps)
    return Box(f"s:{stage.name}", kind, stage.name, said, hint, time, "", frame.band)


class _PlanDrawer:
    """Finds the boxes and wires of a graph. Without stages all of it stands in one band, without a frame."""

    def __init__(self, graph: Graph, stages: Iterable[Stage], times: Times | None) -> None:
        self.graph = graph
        self.times = times
        self.stage_of = {step.name: stage for stage in stages for step in stage.steps}
        self.last = 1 + max((stage.level + 1 for stage in self.stage_of.values()), default=1)

    def drawing(self, frames: tuple[Frame, ...]) -> Drawing:
        graph = self.graph
        wires = list(self._wires())
        constants = [box for box in self._constants() if any(wire.source == box.id for wire in wires)]
        boxes = [
            *(
                Box(f"i:{value.name}", "input", "", value.name, short(str(value.where)), band=0)
                for value in graph.inputs
            ),
            *constants,
            *map(self._box, graph.steps),
            *(
                Box(f"o:{output.name}", "output", "", output.name, short(str(output.where)), band=self.last)
                for output in graph.outputs
            ),
        ]
        order = " then ".join(frame.name for frame in frames)
        summary = f"{graph}. {len(graph.steps)} nodes{' in the stages ' if order else ''}{order}."
        return Drawing(graph.name, summary, tuple(boxes), tuple(wires), frames)

    def _box(self, step: Step) -> Box:
        stage = self.stage_of.get(step.name)
        time = str(self.times.nodes[step.name]) if self.times is not None and step.name in self.times.nodes else ""
        kind: Kind = "device" if stage is not None and stage.on_device else "host"
        frame, band = (stage.name, 1 + stage.level) if stage is not None else ("", 1)
        return Box(f"n:{step.name}", kind, type(step.op).__name__, step.name, short(step.where), time, frame, band)

    def _wires(self) -> Iterator[Wire]:
        made_by = {value.name: f"i:{value.name}" for value in self.graph.inputs}
        made_by.update((key, f"n:{step.name}") for step in self.graph.steps for key, _, _ in step.outputs)
        readers: dict[str, list[str]] = {key: [] for key in self.graph.specs}
        for step in self.graph.steps:
            for key in dict.fromkeys(step.inputs):
                readers[key].append(f"n:{step.name}")
        for output in self.graph.outputs:
            readers[output.key].append(f"o:{output.name}")
        for key, spec in self.graph.specs.items():
            if key in self.graph.constants:
                yield from self._constant_wires(key, spec)
            elif readers[key]:
                yield Wire(key, made_by[key], tuple(readers[key]), str(spec), bytes_text(spec.nbytes))

    def _constant_wires(self, key: str, spec: TensorSpec) -> Iterator[Wire]:
        """One in each frame that reads it: it does not cross."""
        by_frame: dict[str, list[str]] = {}
        for step in self.graph.steps:
            if key in step.inputs:
                by_frame.setdefault(self._frame(step), []).append(f"n:{step.name}")
        for frame, targets in by_frame.items():
            yield Wire(key, f"c:{frame}:{key}", tuple(targets), str(spec), "")

    def _constants(self) -> Iterator[Box]:
        seen = set()
        for step in self.graph.steps:
            for key in self.graph.constants.keys() & set(step.inputs):
                frame, stage = self._frame(step), self.stage_of.get(step.name)
                if (frame, key) not in seen:
                    seen.add((frame, key))
                    band = 1 + stage.level if stage is not None else 1
                    yield Box(f"c:{frame}:{key}", "constant", "", key, "a constant", "", frame, band)

    def _frame(self, step: Step) -> str:
        stage = self.stage_of.get(step.name)
        return stage.name if stage is not None else ""
