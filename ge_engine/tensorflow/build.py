"""Build a stage that is a frozen graph: one file for all gears, its inputs and outputs called by the stage's keys.

The graph is not folded: a compiler for an NPU does that, for each gear. Beside it lies what OpenVINO makes of it, which
serves every batch size on a CPU, and is read in no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ops import BuildError, DeviceError, ModelError, TensorSpec

from .. import openvino_runtime
from ..cores import usable_cores
from ..gears import Gear, Gears
from ..openvino_runtime import OpenVinoGraph
from ..row_independence import ROWS, depends
from ..samples import id_bounds, random_batch
from ..stage import Found, Made, StageGraph, StaticGraph, Tensors
from ..verify import WORST, difference
from .rewrite import Output, write_graph
from .skeleton import FrozenSkeleton

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of how much


def make_frozen(
    stage: StageGraph, gears: Gears, fixed: int | None, folder: Path, file: str, progress: Progress
) -> Made:
    """The graphs of a stage of one frozen model. fixed: its only batch size. file: what its files are called.

    Errors: BuildError when a gear cannot be made, or fails; ModelError for a file that cannot be used.
    """
    path = folder / f"{file}.pb"
    _write(stage, path)
    static = {
        gear: StaticGraph(gear, str(path), _tensors(stage.inputs, gear), _tensors(stage.outputs, gear))
        for gear in gears
    }
    network = openvino_runtime.read(path)
    gap, mixes = _checked(stage, static, network, fixed, progress)
    shared = {}
    if fixed is None and gap <= WORST:
        openvino_runtime.write(network, folder / f"{file}.xml")
        shared = {gear.dims: str(folder / f"{file}.xml") for gear in gears}
    found = tuple(_found(stage, gap, fixed, mixes))
    return Made(static, shared, gap if shared else None, stage.steps[0].name if mixes else None, (), found)


def _write(stage: StageGraph, path: Path) -> None:
    """The part of the graph that the stage needs, in the stage's words."""
    (step,) = stage.steps
    skeleton = step.op.skeleton  # type: ignore[attr-defined]  # it is a Model
    assert isinstance(skeleton, FrozenSkeleton)
    placeholders = [value.name for value in skeleton.model.graph.input]
    twice = {key for key in step.inputs if step.inputs.count(key) > 1}
    if twice or stage.constants:
        raise BuildError(
            f"'{min(twice or stage.constants)}' is {'read twice by' if twice else 'a constant, and read by'} a "
            "TensorFlow graph, which takes each input from a request",
            fix="give it a copy of its own: put an op between" if twice else "make it an input of the pipeline",
            where=step.where,
        )
    made_of = {key: name for key, name, _ in step.outputs}
    outputs = [Output(key, made_of[key], spec.dtype) for key, spec in stage.outputs]
    write_graph(skeleton.reading.source, dict(zip(placeholders, step.inputs)), outputs, path)


def _tensors(specs: Sequence[tuple[str, TensorSpec]], gear: Gear) -> Tensors:
    return tuple((key, spec.dtype, gear.shape(spec)) for key, spec in specs)


def _checked(
    stage: StageGraph, static: Mapping[Gear, StaticGraph], network: Any, fixed: int | None, progress: Progress
) -> tuple[float, bool]:
    """Run it: how far each gear's own graph is from the one for all, and whether rows depend on each other."""
    gear = next(iter(static))
    try:
        free = OpenVinoGraph(network, usable_cores())
        bounds = id_bounds(static[gear].inputs, free)
        gap = 0.0
        for done, (gear, graph) in enumerate(static.items()):
            progress(f"{stage.name}: gear {gear}", done, len(static))
            batch = random_batch(graph.inputs, bounds)
            shapes = {name: shape for name, _, shape in graph.inputs}
            alone = OpenVinoGraph(openvino_runtime.reshaped(network, shapes), usable_cores())(batch)
            together = free(batch)
            for name, _, shape in graph.outputs:
                if alone[name].shape != shape:
                    raise ModelError(f"output {name} has the shape {list(alone[name].shape)}, not {list(shape)}")
                gap = max(gap, difference([alone[name]], [together[name]]))
        if fixed is not None:
            return gap, False
        tensors = tuple((name, dtype, (ROWS, *shape[1:])) for name, dtype, shape in static[gear].inputs)
        return gap, any(depends(tensors, bounds, lambda batch, _: list(free(batch).values())))
    except (DeviceError, ModelError) as error:
        raise BuildError(
            f"stage '{stage.name}' fails at gear {gear}: {error.message}",
            fix="look at the cause; the model does not take every size that it declares",
            where=stage.steps[0].where,
        ) from error


def _found(stage: StageGraph, gap: float, fixed: int | None, mixes: bool) -> Iterator[Found]:
    """What is to be said, in the words of build."""
    name = stage.steps[0].name
    if mixes:
        message = f"'{name}' makes the samples of a batch depend on each other: there is no padding, no merging"
        yield Found(0, "G50", message, "use a model that treats samples alone, or gears=(1,)")
    if fixed is None and gap > WORST:
        message = f"stage '{stage.name}': the graph for every batch size gives other answers than each gear's own"
        yield Found(0, "G55", message, "each gear runs its own graph, which takes more memory; make an ONNX file of it")
    elif fixed is None and gap:
        message = f"stage '{stage.name}': the static graphs differ from the shared graph by up to {gap:.1e}"
        yield Found(0, "G56", message, "nothing, where that is small enough")
    if stage.precision != "origin":
        message = f"precision '{stage.precision}' is not emulated for a TensorFlow graph: on a CPU it runs as origin"
        yield Found(0, "G59", message, "make an ONNX file of it (gepipe convert), or measure on an NPU")
