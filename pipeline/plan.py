"""Plan: the stages of a pipeline in order, each device stage built for its gears. What runs is what is exported."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ge_engine.build import BuiltStage, StageGraph, build
from ge_engine.devices import Device
from ge_engine.gears import Gears
from ops import Finding

from .deployment import Deployment
from .explain import explain
from .graph import Graph
from .session import Session
from .stages import Stage, partition

Progress = Callable[[str, int, int], None]  # what is built, how many are done, of how many


@dataclass(frozen=True, eq=False)
class Plan:
    """Made by Pipeline.compile; `print(plan)` explains it.

    built: for each device stage, its static graphs. They live in `folder` as long as the plan does.
    """

    graph: Graph
    deployment: Deployment
    stages: tuple[Stage, ...]
    built: Mapping[str, BuiltStage]
    folder: Path

    @classmethod
    def of(cls, graph: Graph, deployment: Deployment, progress: Progress | None = None) -> Plan:
        """Partition a graph, and build its device stages.

        Errors: BuildError naming the stage.
        """
        stages = partition(graph, deployment)
        folder = Path(tempfile.mkdtemp(prefix="gepipe-"))
        try:
            built = {stage.name: _build(stage, graph, folder, progress) for stage in stages if stage.on_device}
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        plan = cls(graph, deployment, stages, built, folder)
        weakref.finalize(plan, shutil.rmtree, folder, ignore_errors=True)
        return plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What validate and build have to say."""
        return (*self.graph.advice, *(finding for stage in self.built.values() for finding in stage.findings))

    def session(self, device: str | Device = "cpu") -> Session:
        """Open the plan on a device: "cpu", "null", or a Device.

        Errors: DeviceError; there is never a fallback to another device.
        """
        return Session(self, device)

    def export(self, directory: str | os.PathLike[str], **options: Any) -> tuple[str, ...]:
        """Write this plan into a Triton model repository; see pipeline.triton.repository.export.

        Errors: ExportError.
        """
        from .triton.repository import export  # a Plan knows nothing of Triton until it is asked

        return export(self, directory, **options)

    def __str__(self) -> str:
        return explain(self)


def _build(stage: Stage, graph: Graph, folder: Path, progress: Progress | None) -> BuiltStage:
    place = folder / stage.name
    place.mkdir()
    constants = {key: graph.constants[key] for step in stage.steps for key in step.inputs if key in graph.constants}
    source = StageGraph(stage.name, stage.steps, stage.inputs, stage.outputs, constants)
    gears = Gears.of_specs([spec for _, spec in stage.inputs], stage.batches)
    return build(source, gears, place, progress)
