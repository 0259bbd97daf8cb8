"""Build: a stage and its gears become static graphs, one ONNX file for each, with one file of weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import onnx

from ops import BuildError, Finding
from ops.spec import canonical_dtype

from . import runtime
from .assemble import assemble
from .builder import BATCH
from .dynamic import Chain, dynamic_chains, values_of
from .fold import folded
from .free_batch import folded_for_any_batch
from .gears import Gear, Gears
from .half.precision import MEANINGS, emulates, mode_of, on_cpu
from .half.rewrite import emulated
from .model import Model
from .progress import Progress
from .row_independence import ROWS, mixing_node
from .samples import has_ids
from .shapes import set_shape, shape_of
from .stage import BuiltStage, Found, Made, StageGraph, StaticGraph, Tensors
from .tensorflow.build import make_frozen
from .verify import WORST, Bounds, Dims, Unrunnable, bounds_of, deviations
from .weights import WeightFile

__all__ = ["BuiltStage", "Progress", "StageGraph", "StaticGraph", "assembled", "build", "make"]

_OWN_GRAPHS = "each gear runs its own graph, which takes more memory; export the model with a dynamic batch"


def build(stage: StageGraph, gears: Gears, folder: Path, progress: Progress | None = None) -> BuiltStage:
    """Make the static graphs of a stage in `folder`, and check them against each other.

    progress: called with what is being done, how much is done, and of how much.
    Errors: BuildError when a graph cannot be made; ModelError when a model's file cannot be used.
    """
    model, notes = assembled(stage, gears)
    return make(stage, gears, model, folder, progress).built(stage, gears, notes)


def assembled(stage: StageGraph, gears: Gears) -> tuple[onnx.ModelProto, list[Finding]]:
    """The first step of build: the stage as one graph, and what had to be done to its models. Errors: as build."""
    _fixed_batch(stage, gears)
    return assemble(stage)


def make(
    stage: StageGraph, gears: Gears, model: onnx.ModelProto, folder: Path, progress: Progress | None = None
) -> Made:
    """The rest of build. Errors: as build."""
    return _Build(stage, gears, Path(folder), progress or (lambda what, done, total: None)).run(model)


def _fixed_batch(stage: StageGraph, gears: Gears) -> int | None:
    """The only batch size that the models of a stage take; None where any will do."""
    sizes = {step.op.fixed_batch for step in stage.steps if isinstance(step.op, Model)} - {None}
    if len(sizes) > 1:
        raise BuildError(
            f"stage '{stage.name}' joins models of the fixed batch sizes {', '.join(map(str, sizes))}",
            fix="export them with a dynamic batch",
        )
    fixed = next(iter(sizes), None)
    if fixed is not None and gears.batches != (fixed,):
        raise BuildError(
            f"stage '{stage.name}' has a model that takes {fixed} samples only; the gears are "
            f"{', '.join(map(str, gears.batches))}",
            fix=f"use gears=({fixed},), or export the model with a dynamic batch",
            where=stage.steps[0].where,
        )
    return fixed


class _Build:
    def __init__(self, stage: StageGraph, gears: Gears, folder: Path, progress: Progress) -> None:
        self.stage = stage
        self.gears = gears
        self.folder = folder
        self.progress = progress
        self.file = re.sub(r"[^\w.-]", "_", stage.name) or "stage"
        self.where = stage.steps[0].where
        self.found: list[Found] = []
        self.dynamic: dict[str, Chain] = {}

    def run(self, model: onnx.ModelProto) -> Made:
        fixed = _fixed_batch(self.stage, self.gears)
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(isinstance(step.op, Model) and step.op.frozen for step in self.stage.steps):
            return make_frozen(self.stage, self.gears, fixed, self.folder, self.file, self.progress)
        static: dict[Gear, StaticGraph] = {}
        shared: dict[Dims, str] = {}
        total = len(self.gears) + 1
        with WeightFile(self.folder / f"{self.file}.weights") as weights:
            for done, gear in enumerate(self.gears):
                self.progress(f"{self.stage.name}: gear {gear}", done, total)
                static[gear] = self._static(model, gear, weights)
            for gear in {gear.dims: gear for gear in self.gears}.values() if fixed is None else ():
                path = self._shared(model, gear, weights)
                if path:
                    shared[gear.dims] = path
        self.progress(f"{self.stage.name}: checking", total - 1, total)
        shared_deviation, mixing = self._checked(static, shared)
        self.progress(f"{self.stage.name}: built", total, total)
        self._note(shared_deviation, mixing)
        return Made(static, shared, shared_deviation, mixing, tuple(self.dynamic.items()), tuple(self.found))

    def _static(self, model: onnx.ModelProto, gear: Gear, weights: WeightFile) -> StaticGraph:
        graph = folded(model, {key: gear.shape(spec) for key, spec in self.stage.inputs})
        try:
            values = values_of(graph)
        except Exception as error:  # onnx has no family of exceptions
            raise BuildError(
                f"stage '{self.stage.name}' does not fit together at gear {gear}: {runtime.first_line(error)}",
                fix="use sizes that its models were made for",
                where=self.where,
            ) from error
        for name, chain in dynamic_chains(graph, values).items():
            self.dynamic.setdefault(name, chain)
        for key, spec in self.stage.outputs:
            set_shape(values[key], gear.shape(spec))  # the model's promise, where inference saw nothing
        _declare(graph.graph, values)
        path = self._write(graph, str(gear), weights)
        return StaticGraph(gear, path, _tensors(graph.graph.input), _tensors(graph.graph.output))

    def _shared(self, model: onnx.ModelProto, gear: Gear, weights: WeightFile) -> str | None:
        """A graph that serves every batch size; None (and a finding) where there is none."""
        samples = {key: gear.shape(spec)[1:] for key, spec in self.stage.inputs}
        promised = dict(self.stage.outputs)
        try:
            graph = folded_for_any_batch(model, samples)
            values = values_of(graph)
        except (OSError, MemoryError):  # no fault of the graph's
            raise
        except Exception as error:  # neither onnx nor ONNX Runtime has a family of exceptions
            self._find(
                "G55",
                f"no graph serves every batch size: {runtime.first_line(error)}",
                _OWN_GRAPHS,
            )
            return None
        for value in graph.graph.output:
            value.CopyFrom(values[value.name])
            set_shape(value, (BATCH, *gear.shape(promised[value.name])[1:]))
        name = "x".join(str(size) for _, size in gear.dims)
        return self._write(graph, f"any_{name}" if name else "any", weights)

    def _write(self, graph: onnx.ModelProto, name: str, weights: WeightFile) -> str:
        weights.take(graph)
        weights.flush()
        path = self.folder / f"{self.file}_{name}.onnx"
        path.write_bytes(graph.SerializeToString())
        if emulates(self.stage.precision):  # beside it, with the same weights
            half = emulated(graph, self.stage.precision)
            Path(self._on_cpu(str(path))).write_bytes(half.SerializeToString())
        return str(path)

    def _on_cpu(self, path: str) -> str:
        return on_cpu(path, self.stage.precision)

    def _checked(self, static: dict[Gear, StaticGraph], shared: dict[Dims, str]) -> tuple[float | None, str | None]:
        """Run the graphs: how far the shared ones are off (an unfit one is dropped), and which node mixes rows."""
        smallest = min(static.values(), key=lambda graph: graph.gear.batch)
        try:
            bounds = bounds_of(smallest)
            found = deviations(static, shared, bounds)
            if emulates(self.stage.precision):
                found = _worse(found, deviations(*self._emulated(static, shared), bounds))
            for dims in [dims for dims, gap in found.items() if gap > WORST]:
                self._find(
                    "G55", "the graph for every batch size gives other answers than each gear's own", _OWN_GRAPHS
                )
                del shared[dims]
            return max((found[dims] for dims in shared), default=None), self._mixing(static, shared, bounds)
        except Unrunnable as error:
            reason = runtime.first_line(error.__cause__ or error)
            if not has_ids(smallest.inputs):
                raise BuildError(
                    f"stage '{self.stage.name}' fails at gear {error}: {reason}",
                    fix="look at the cause; the model does not take every batch size that it declares",
                    where=self.where,
                ) from error
            self._find(
                "G57", f"no random ids were found that gear {error} takes: {reason}", "test it with real samples"
            )
            shared.clear()
            return None, None

    def _emulated(
        self, static: Mapping[Gear, StaticGraph], shared: Mapping[Dims, str]
    ) -> tuple[dict[Gear, StaticGraph], dict[Dims, str]]:
        """The graphs that a CPU runs in place of these."""
        own = {gear: replace(graph, path=self._on_cpu(graph.path)) for gear, graph in static.items()}
        return own, {dims: self._on_cpu(path) for dims, path in shared.items()}

    def _mixing(self, static: dict[Gear, StaticGraph], shared: dict[Dims, str], bounds: Bounds) -> str | None:
        gear, graph = max(static.items(), key=lambda item: item[0].batch)
        path, tensors = graph.path, graph.inputs
        if gear.dims in shared:
            path = shared[gear.dims]
            tensors = tuple((name, dtype, (ROWS, *shape[1:])) for name, dtype, shape in tensors)
        try:
            return mixing_node(path, tensors, bounds)
        except Exception as error:  # neither onnx nor ONNX Runtime has a family of exceptions
            self._find(
                "G57",
                f"whether rows depend on each other could not be tested: {runtime.first_line(error)}",
                "test it with real samples",
            )
            return None

    def _note(self, shared_deviation: float | None, mixing: str | None) -> None:
        if mixing is not None:
            self._find(
                "G50",
                f"node '{mixing}' makes the samples of a batch depend on each other: there is no padding, no merging",
                "use a model that treats samples alone, or gears=(1,)",
                mixing,
            )
        causes = {chain[0]: (name, chain) for name, chain in reversed(self.dynamic.items())}
        for cause, (name, chain) in causes.items():
            self._find(
                "G51",
                f"the shape of '{name}' depends on data, from node '{cause}' on ({len(chain)} nodes)",
                "it runs on the CPU; for an NPU cut the model before that node and do the rest on the host",
                cause,
            )
        precision = self.stage.precision
        if mode_of(precision) is None:
            self._find(
                "G59",
                f"precision '{precision}' ({MEANINGS[precision]}) is not emulated: on a CPU it runs as origin",
                "compare with fp16, which is emulated and rounds no less than mixed_float16; or measure on an NPU",
            )
        if shared_deviation:
            self._find(
                "G56",
                f"the static graphs differ from the shared graph by up to {shared_deviation:.1e}",
                "nothing, where that is small enough; else run each gear's own graph",
            )

    def _find(self, rule: str, message: str, fix: str, node: str = "") -> None:
        """Note a finding; it belongs to the step that a node is from."""
        names = [step.name for step in self.stage.steps]
        step = next((index for index, name in enumerate(names) if node.startswith(f"{name}/")), 0)
        self.found.append(Found(step, rule, f"stage '{self.stage.name}': {message}", fix))


def _worse(one: Mapping[Dims, float], other: Mapping[Dims, float]) -> dict[Dims, float]:
    return {dims: max(gap, other[dims]) for dims, gap in one.items()}


def _declare(graph: onnx.GraphProto, values: Mapping[str, onnx.ValueInfoProto]) -> None:
    """Write the shape of every tensor into the graph."""
    outputs = {value.name for value in graph.output}
    for value in graph.output:
        value.CopyFrom(values[value.name])
    for name in (name for node in graph.node for name in node.output if name and name not in outputs):
        if shape_of(values[name]) is not None:
            graph.value_info.append(values[name])


def _tensors(values: Iterable[onnx.ValueInfoProto]) -> Tensors:
    """Name, dtype and whole shape; -1 for what the data decides."""
    return tuple(
        (
            value.name,
            canonical_dtype(value.type.tensor_type.elem_type),
            tuple(dim if isinstance(dim, int) else -1 for dim in shape_of(value) or ()),
        )
        for value in values
    )
