"""Plan: the stages of a pipeline in order, each device stage built for its gears. What runs is what is exported."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ge_engine.build import BuiltStage, Progress, StageGraph
from ge_engine.cache import Cache, build_cached
from ge_engine.devices import Device
from ge_engine.gears import Gears
from ge_engine.half.precision import ORIGIN
from ge_engine.model import Model
from ops import BuildError, Finding

from .deployment import Deployment, PerModel
from .explain import explain
from .graph import Graph
from .passes import Change, compiled
from .session import Session
from .stages import Stage, partition


@dataclass(frozen=True, eq=False)
class Plan:
    """Made by Pipeline.compile; `print(plan)` explains it.

    built: for each device stage, its static graphs. Their files are there as long as the plan is: in the compile cache,
    which keeps them for the next plan, or in a temporary folder. declared: the graph before all passes.
    """

    graph: Graph
    deployment: Deployment
    stages: tuple[Stage, ...]
    built: Mapping[str, BuiltStage]
    changes: tuple[Change, ...]
    declared: Graph

    @classmethod
    def of(cls, graph: Graph, deployment: Deployment, progress: Progress | None = None, *, cache: bool = True) -> Plan:
        """Run the passes over a graph, partition it, and build its device stages, or find them in the compile cache.

        Errors: BuildError naming the stage, or what the machine lacks.
        """
        declared = graph
        graph, placed, changes = compiled(declared, deployment)
        stages = partition(graph, placed)
        store = Cache.of_environment() if cache else None
        built: dict[str, BuiltStage] = {}
        with _room(), ExitStack() as undo:
            for stage in (stage for stage in stages if stage.on_device):
                built[stage.name], held = build_cached(*_source(stage, graph, deployment), store, progress)
                undo.callback(held.close)
            keep = undo.pop_all()
        plan = cls(graph, deployment, stages, built, changes, declared)
        weakref.finalize(plan, keep.close)
        return plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What validate and build have to say."""
        built = (finding for stage in self.built.values() for finding in stage.findings)
        return tuple(dict.fromkeys((*self.graph.advice, *built)))

    @property
    def uncached(self) -> str:
        """Why the compile cache could not be used, and what to do; empty where it could, or is off."""
        found = (f"{one.message}\nfix: {one.fix}" for one in self.findings if one.rule == "G58")
        return next(found, "")

    def session(self, device: str | Device = "cpu", progress: Progress | bool | None = None) -> Session:
        """Open the plan on a device: "cpu", "null", "npu:0", "npu:0,1", "npu" (the deployment's cards), or a Device.

        progress: as of `compile`; for an NPU more is compiled here, which may take minutes.
        Errors: DeviceError; there is never a fallback to another device.
        """
        with told(progress) as show:
            return Session(self, device, show)

    def export(self, directory: str | os.PathLike[str], **options: Any) -> tuple[str, ...]:
        """Write this plan into a Triton model repository; see pipeline.triton.repository.export.

        Errors: ExportError.
        """
        from .triton.repository import export  # a Plan knows nothing of Triton until it is asked

        return export(self, directory, **options)

    def dump_graph(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the graph after each pass, the plan, and each gear's static graph; see pipeline.dump.graphs.dump_graph.

        Errors: WrongUse for a folder that cannot be written.
        """
        from .dump.graphs import dump_graph  # with all that draws

        return dump_graph(self, folder)

    def __str__(self) -> str:
        return explain(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Plan cannot be pickled or copied: it owns files; compile the pipeline where it is to run")


def told(progress: Progress | bool | None) -> AbstractContextManager[Progress | None]:
    """Who is told how far something is; True stands for a bar."""
    if progress is True:
        from .bars import compiling  # with what draws it

        return compiling()
    return nullcontext(progress or None)


@contextmanager
def _room() -> Iterator[None]:
    """Errors: BuildError for what the machine lacks: memory, or a folder that can be written and has room."""
    try:
        yield
    except MemoryError as error:
        raise BuildError(f"there is not enough memory: {error}", fix="use smaller gears") from error
    except OSError as error:
        fix = "the graphs and their weights need room in the folder for temporary files; TMPDIR names another"
        raise BuildError(f"the graphs cannot be built: {error}", fix=fix) from error


def _source(stage: Stage, graph: Graph, deployment: Deployment) -> tuple[StageGraph, Gears]:
    """What a device stage is built from."""
    constants = {key: graph.constants[key] for step in stage.steps for key in step.inputs if key in graph.constants}
    gears = Gears.of_specs([spec for _, spec in stage.inputs], stage.batches)
    # An NPU's setting: where ONNX Runtime serves, it computes as the graph says, and so do we.
    precision = _precision(stage, deployment.precision) if deployment.model_backend == "npu_ge" else ORIGIN
    return StageGraph(stage.name, stage.steps, stage.inputs, stage.outputs, constants, precision), gears


def _precision(stage: Stage, setting: PerModel[str]) -> str:
    """Errors: BuildError where the models of the stage disagree."""
    if not isinstance(setting, Mapping):
        return setting
    models = {step.op.model_name: step.where for step in stage.steps if isinstance(step.op, Model)}
    found = {name: setting.get(name, ORIGIN) for name in models}
    if len(set(found.values())) > 1:
        given = ", ".join(f"'{name}' is {precision}" for name, precision in found.items())
        raise BuildError(
            f"stage '{stage.name}' joins models of different precision: {given}",
            fix="give its models one precision: they are one graph",
            where=next(iter(models.values())),
        )
    return next(iter(found.values()), ORIGIN)
