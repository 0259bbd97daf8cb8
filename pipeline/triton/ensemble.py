"""Ensemble: the stages of a plan as composing models, and the tensors that join them.

One stage is one composing model. A value that another stage reads is a tensor named by its key; a pipeline output is a
tensor of the output's name. A value that is both is emitted twice, for a server loses requests that leave out an output
which another step reads. A value of unknown size does not cross: the later stage makes it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ops import Counted, ExportError, Graded, TensorSpec
from ops.host_stage import Step
from ops.spec import Dim
from ops.unique import unique

from ..graph import Graph
from ..plan import Plan
from ..stages import Stage

COUNT = TensorSpec("int32", (1,))


@dataclass(frozen=True)
class Tensor:
    """A tensor of a composing model: its name there and in the ensemble, and the value that it holds.

    count: for a value of counted rows, the key of its count; such a key begins with #.
    """

    name: str
    joined: str
    key: str
    spec: TensorSpec
    count: str = ""

    @property
    def is_count(self) -> bool:
        return self.key.startswith("#")


@dataclass(frozen=True)
class Composing:
    """A stage with all that it needs to stand alone."""

    stage: Stage
    steps: tuple[Step, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Ensemble:
    """A plan as a server sees it.

    max_batch_size: 0 where the number of samples of a request is written in the dims (rows).
    """

    name: str
    max_batch_size: int
    rows: int
    models: tuple[Composing, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def dims(self, spec: TensorSpec) -> list[int]:
        """The dims of a tensor in a config: without the batch where the server has one, -1 for what varies."""
        sizes = [_size(dim) for dim in spec.shape]
        if self.max_batch_size:
            return sizes or [1]
        return [self.rows, *sizes]


def _size(dim: Dim) -> int:
    if isinstance(dim, Counted):
        return dim.limit
    if isinstance(dim, Graded) and len(dim.values) == 1:
        return dim.values[0]
    return dim if isinstance(dim, int) else -1


def ensemble_of(plan: Plan) -> Ensemble:
    """Errors: ExportError for a plan that no ensemble can express."""
    max_batch_size, rows = _batch(plan)
    joined = _Joined(plan.graph)
    needs = {stage.name: _needs(stage, plan, lone=not max_batch_size and rows == 1) for stage in plan.stages}
    models = []
    for stage in plan.stages:
        steps, inputs = needs[stage.name]
        later = {key for other in plan.stages if other is not stage for key, _ in needs[other.name][1]}
        models.append(Composing(stage, steps, joined.inputs(inputs), joined.outputs(stage, later)))
    return Ensemble(
        plan.deployment.name_prefix + plan.graph.name,
        max_batch_size,
        rows,
        tuple(models),
        tuple(Tensor(value.name, value.name, value.name, value.spec) for value in plan.graph.inputs),
        joined.results(models),
    )


def _batch(plan: Plan) -> tuple[int, int]:
    """max_batch_size, and the rows of a request where that is 0."""
    built = [plan.built[stage.name] for stage in plan.stages if stage.on_device]
    wanted = plan.deployment.max_batch_size
    if any(stage.gears.sizes or stage.mixing_node is not None for stage in built):
        return 0, 1
    counts = {stage.gears.batches for stage in built} or {(wanted or 1,)}
    if all(len(batches) == 1 for batches in counts):
        if len(counts) > 1:
            raise ExportError(f"the models take {sorted(counts)} samples each", fix="give all of them one gear")
        rows = next(iter(counts))[0]
        return (rows, 0) if not built and rows > 1 else (0, rows)
    largest = min(batches[-1] for batches in counts)
    if wanted and wanted > largest:
        raise ExportError(
            f"max_batch_size is {wanted}, the largest gear is {largest}", fix="compile with that gear too"
        )
    return wanted or largest, 0


def _needs(stage: Stage, plan: Plan, lone: bool) -> tuple[tuple[Step, ...], tuple[tuple[str, TensorSpec], ...]]:
    """The steps of a stage, with those that make again what cannot cross, and the values that it reads.

    lone: a request is one sample, so a value of any size may cross.
    """
    graph = plan.graph
    made_by = {key: step for step in graph.steps for key, _, _ in step.outputs}
    given = {value.name for value in graph.inputs} | set(graph.constants)
    names = {step.name for step in stage.steps}

    def grow(step: Step) -> None:
        for key in step.inputs:
            maker = made_by.get(key)
            if maker is None or maker.name in names or _can_cross(graph.specs[key], lone):
                continue
            if type(maker.op).__module__.partition(".")[0] != "ops":
                raise ExportError(
                    f"'{key}' ({graph.specs[key]}) is read by stage '{stage.name}' too: its size varies, and it cannot "
                    "be made again, since the op is not known to be deterministic",
                    fix="put a Resize or Letterbox between, or compile with gears=(1,): --gears 1",
                    where=maker.place,
                )
            names.add(maker.name)
            grow(maker)

    if not stage.on_device:
        for step in stage.steps:
            grow(step)
    steps = tuple(step for step in graph.steps if step.name in names)
    inside = {key for step in steps for key, _, _ in step.outputs}
    read = dict.fromkeys(key for step in steps for key in step.inputs if key not in inside)
    specs = graph.specs
    assert set(read) <= given | set(made_by)
    return steps, tuple((key, specs[key]) for key in read if key not in graph.constants)


def _can_cross(spec: TensorSpec, lone: bool) -> bool:
    return lone or not any(isinstance(dim, str) for dim in spec.shape)


class _Joined:
    """Names of tensors. An edge has its key's; where a pipeline output is called so, `.edge` is put behind.

    The count of `x<=n` is num_x; num_node_x where several nodes count under that name; numbered where that is taken.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs_of_graph = {value.name for value in graph.inputs}
        makers = dict.fromkeys(
            (dim.name, step.name) for step in graph.steps for _, _, spec in step.outputs for dim in spec.counted
        )
        names = [name for name, _ in makers]
        given = {*self.inputs_of_graph, *graph.specs, *(output.name for output in graph.outputs)}
        self.count_names: dict[str, str] = {}
        for name, maker in makers:
            count = f"num_{name}" if names.count(name) == 1 else f"num_{maker}_{name}"
            self.count_names[f"#{maker}.{name}"] = unique(count, given | set(self.count_names.values()))
        self.count_of = {
            key: f"#{step.name}.{dim.name}"
            for step in graph.steps
            for key, _, spec in step.outputs
            for dim in spec.counted
        }
        self.taken = {output.name for output in graph.outputs}
        self.taken |= {self.count_names[self.count_of[o.key]] for o in graph.outputs if o.key in self.count_of}

    def edge(self, key: str) -> str:
        name = self.count_names.get(key, key)
        return f"{name}.edge" if name in self.taken else name

    def inputs(self, values: Iterable[tuple[str, TensorSpec]]) -> tuple[Tensor, ...]:
        tensors: dict[str, Tensor] = {}
        for key, spec in values:
            name = key if key in self.inputs_of_graph else self.edge(key)
            count = self.count_of.get(key, "")
            tensors[name] = Tensor(name, name, key, spec, count)
            if count:
                tensors[count] = Tensor(self.edge(count), self.edge(count), count, COUNT)
        return tuple(tensors.values())

    def outputs(self, stage: Stage, later: set[str]) -> tuple[Tensor, ...]:
        """What a stage emits: an edge for each value that a later stage reads, and the pipeline outputs."""
        tensors: dict[str, Tensor] = {}

        def emit(name: str, key: str, spec: TensorSpec, count_name: str) -> None:
            count = self.count_of.get(key, "")
            tensors[name] = Tensor(name, name, key, spec, count)
            if count:
                tensors[count_name] = Tensor(count_name, count_name, count, COUNT)

        for key, _, spec in (output for step in stage.steps for output in step.outputs):
            count = self.count_of.get(key, "")
            if key in later:
                emit(self.edge(key), key, spec, self.edge(count))
            for output in self.graph.outputs:
                if output.key == key:
                    emit(output.name, key, spec, self.count_names.get(count, ""))
        return tuple(tensors.values())

    def results(self, models: Iterable[Composing]) -> tuple[Tensor, ...]:
        """The outputs of the ensemble, in the user's order, with the counts behind."""
        emitted = {tensor.name: tensor for model in models for tensor in model.outputs}
        counts = [self.count_of[output.key] for output in self.graph.outputs if output.key in self.count_of]
        names = [output.name for output in self.graph.outputs] + [self.count_names[count] for count in counts]
        return tuple(emitted[name] for name in dict.fromkeys(names))
