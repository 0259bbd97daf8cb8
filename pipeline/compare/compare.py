"""Compare: a pipeline or a model with another way of computing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ge_engine.fold import folded
from ge_engine.half.precision import emulates
from ge_engine.half.rewrite import Keep, emulated
from ge_engine.shapes import shape_of
from ge_engine.single_file import read_graph
from ge_engine.skeleton import read_skeleton
from ops import BuildError, GepipeError, WrongUse
from ops.near import near

from ..deployment import PRECISIONS, Deployment
from ..graph import Graph
from ..load import load
from ..plan import Plan
from ..samples import session_samples
from .case import Case, compared
from .layer import Layer
from .limits import Limits
from .measures import Sums
from .recording import Recording
from .result import Comparison
from .samples import model_feeds, pipeline_samples, random_feeds
from .search import Kept, Search
from .sides import DumpSide, Feeds, GraphSide, Side

MADE_UP = "the samples are random numbers, which say little: give real ones with --data"
MOST_SAMPLES = 8
_GIVE = "give samples: --data DIR"
_CHUNK = 64  # nodes of a slice, most of them Casts


def compare(
    target: str,
    other: str = "fp16",
    *,
    data: Path | None = None,
    limits: Limits = Limits(),  # noqa: B008  # frozen
    settings: Deployment | None = None,
    most: int = MOST_SAMPLES,
    keep: Keep | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """target: an .onnx, or a pipeline as the command line names it. other: a precision, another .onnx, or a folder of
    tensors that another device wrote for the same samples.

    data: a folder of samples, or one; random numbers where there is none. most: samples that are taken. keep: what
    stays in fp32; without it, where outputs depart in a precision, it is looked for, which may take minutes. say: told
    of what is tried.
    Errors: WrongUse for samples, names or a precision that cannot be meant; ModelError; ValidationError; BuildError.
    """
    answers: tuple[Layer, ...] = ()
    if target.endswith((".pb", ".tflite")):
        raise WrongUse(f"{target} is no ONNX file", fix="make one of it (gepipe convert), and compare that")
    if keep is not None and not emulates(other):
        raise WrongUse(f"nodes are kept in fp32, and {other} is no precision", fix="compare with fp16")
    if target.endswith(".onnx"):
        cases = _cases_of_model(target, data, most, fold=emulates(other))
        samples = len(cases[0].feeds)
    else:
        precision = other if emulates(other) and keep is None else None  # a plan keeps nothing in fp32
        cases, answers, samples = _cases_of_pipeline(target, precision, data, most, settings or Deployment())
    notes = [] if data is not None else [MADE_UP]
    if emulates(other):
        _check_names(keep or Keep(), cases)
        layers = [_in_precision(case, other, keep or Keep()) for case in cases]
        kept: Mapping[str, Kept] = {
            case.name: Search(case, other, limits, say).run()
            for case, found in zip(cases, layers)
            if keep is None and any(layer.departs(limits) for layer in found if layer.is_output)
        }
    else:
        side, case = _side(other, cases)
        layers, kept = [compared(case, GraphSide(target, case.graph), side)], {}
        notes += _about(side)
    return Comparison(
        target, other, samples, limits, tuple(layer for found in layers for layer in found), answers, kept, tuple(notes)
    )


def _check_names(keep: Keep, cases: Sequence[Case]) -> None:
    names = {node.name for case in cases for node in case.graph.graph.node}
    for name in sorted(keep.names - names):
        raise WrongUse(f"there is no node {name!r} to keep in fp32", fix=near(name, names))


def _in_precision(case: Case, precision: str, keep: Keep) -> list[Layer]:
    half = GraphSide(precision, emulated(case.graph, precision, keep), chunk=_CHUNK)
    return compared(case, GraphSide("origin", case.graph), half)


def _side(other: str, cases: Sequence[Case]) -> tuple[Side, Case]:
    if other in PRECISIONS:
        fix = "compare with fp16 or cube_fp16in_fp32out; or on an NPU, with a folder of its tensors"
        raise WrongUse(f"precision {other} is not emulated", fix=fix)
    if len(cases) != 1:
        names = ", ".join(case.name for case in cases)
        raise WrongUse(f"{other} is of one model, the pipeline has the stages {names}", fix="compare the models' files")
    (case,) = cases
    if other.endswith(".onnx"):
        return _other_model(other, case), case
    folder = Path(other)
    if not folder.is_dir():
        raise WrongUse(
            f"there is nothing called {other} to compare with",
            fix="name a precision (fp16, cube_fp16in_fp32out), an .onnx, or a folder of tensors",
        )
    if len(case.feeds) > 1:
        fix = "give the one sample that the tensors are of: --data FILE"
        raise WrongUse(f"{other} holds the tensors of one run, there are {len(case.feeds)} samples", fix=fix)
    return DumpSide(folder), case


def _other_model(path: str, case: Case) -> GraphSide:
    """Its inputs and outputs stand for those of the first model in order; all else goes by name."""
    graph = read_skeleton(path).model
    called: dict[str, str] = {}
    pairs = (
        ("inputs", [value.name for value in graph.graph.input], list(case.feeds[0])),
        ("outputs", [value.name for value in graph.graph.output], case.outputs),
    )
    for what, own, theirs in pairs:
        if len(own) != len(theirs):
            raise WrongUse(
                f"{path} has the {what} {', '.join(own)}; the other model has {', '.join(theirs)}",
                fix="compare models that take and give the same",
            )
        if set(own) != set(theirs):
            called.update(zip(own, theirs))
    return GraphSide(path, graph, called)


def _about(side: Side) -> list[str]:
    strangers = side.strangers() if isinstance(side, DumpSide) else []
    more = ", ..." if len(strangers) > 3 else ""
    return [f"{len(strangers)} files belong to no tensor: {', '.join(strangers[:3])}{more}"] if strangers else []


def _cases_of_model(path: str, data: Path | None, most: int, fold: bool) -> list[Case]:
    skeleton = read_skeleton(path)
    feeds = model_feeds(data, skeleton, most) if data is not None else random_feeds(skeleton, most)
    model = _named(skeleton.copy())
    return [Case(Path(path).stem, _folded(model) if fold else model, feeds)]


def _named(model: onnx.ModelProto) -> onnx.ModelProto:
    """With a name for each node, as folding gives them."""
    taken: set[str] = set()
    for node in model.graph.node:
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}:{next(name for name in node.output if name)}"
        taken.add(node.name)
    return model


def _folded(model: onnx.ModelProto) -> onnx.ModelProto:
    """As GE folds it before it lowers precision, so that nothing is rounded between a convolution and its batch norm.

    As it is, where a node would not keep the name by which CANN can be told of it.
    """
    shapes = {value.name: shape_of(value) for value in model.graph.input}
    try:
        result = folded(model, {name: shape for name, shape in shapes.items() if shape is not None})
    except BuildError:
        return model
    named = {node.name for node in model.graph.node}
    return result if all(node.name in named for node in result.graph.node) else model


def _cases_of_pipeline(
    target: str, precision: str | None, data: Path | None, most: int, settings: Deployment
) -> tuple[list[Case], tuple[Layer, ...], int]:
    """Its stages, what it answers in that precision as against origin, and how many samples there are."""
    settings = replace(settings, model_backend="npu_ge")
    graph = load(target).validate(settings)
    samples = _samples(graph, data, most)
    plan = Plan.of(graph, replace(settings, precision="origin"))
    device = Recording()
    wanted = _answers(plan, samples, device, is_made_up=data is None)
    cases = _cases(plan, device)
    if not cases:
        raise WrongUse(f"{target} has no model", fix="compare a pipeline with one")
    if precision is None:
        return cases, (), len(samples)
    got = _answers(Plan.of(graph, replace(settings, precision=precision)), samples, "cpu", is_made_up=data is None)
    return cases, tuple(_answer_layers(graph, wanted, got)), len(samples)


def _cases(plan: Plan, device: Recording) -> list[Case]:
    """One for each graph that has run."""
    runs: dict[tuple[str, str], list[Feeds]] = {}
    names: dict[tuple[str, str], str] = {}
    for stage, gear, feeds in device.runs:
        built = plan.built[stage]
        if built.frozen:
            fix = "make an ONNX file of it (gepipe convert), and compare that"
            raise WrongUse(f"stage '{stage}' is a TensorFlow graph, into which nothing here looks", fix=fix)
        key = stage, built.shared.get(gear.dims) or built.static[gear].path
        runs.setdefault(key, []).append(feeds)
        names.setdefault(key, f"{stage}_{gear}" if built.gears.sizes else stage)
    return [Case(names[key], read_graph(key[1]), tuple(feeds)) for key, feeds in runs.items()]


def _samples(graph: Graph, data: Path | None, most: int) -> Sequence[Mapping[str, Any]]:
    if data is not None:
        return pipeline_samples(data, graph.inputs, most)
    try:
        return session_samples(graph, None, None, most)
    except WrongUse as error:
        raise WrongUse(error.message, fix=_GIVE) from error


def _answers(
    plan: Plan, samples: Sequence[Mapping[str, Any]], device: str | Recording, is_made_up: bool
) -> list[dict[str, Any]]:
    with plan.session(device) as session:
        if isinstance(device, Recording):
            device.runs.clear()  # what the session ran to measure itself
        answers = session.run_batch(samples)
    for number, answer in enumerate(answers):
        if isinstance(answer, GepipeError):
            what = f"sample {number}, made up of random data," if is_made_up else f"sample {number}"
            fix = _GIVE if is_made_up else answer.fix
            raise WrongUse(f"{what} fails: {answer.message}", fix=fix, where=answer.where) from answer
    return answers  # type: ignore[return-value]  # those that are errors were raised


def _answer_layers(graph: Graph, wanted: Sequence[Mapping[str, Any]], got: Sequence[Mapping[str, Any]]) -> list[Layer]:
    """Each output of the pipeline over all samples; where there are other counts of rows, that is said."""
    layers = []
    for index, output in enumerate(graph.outputs):
        sums, fault, dtypes, shape = Sums(), "", ("", ""), ()
        for number, (one, other) in enumerate(zip(wanted, got)):
            a, b = np.asarray(one[output.name]), np.asarray(other[output.name])
            dtypes, shape = (a.dtype.name, b.dtype.name), a.shape
            if a.dtype.kind not in "biuf":
                fault = "" if np.array_equal(a, b) else f"sample {number} differs"
            elif a.shape != b.shape:
                fault = f"sample {number}: {list(a.shape)}, against {list(b.shape)}"
            else:
                sums.add(a, b)
        layers.append(
            Layer(
                "", index, "", "answer", output.name, 0, shape, dtypes, None if fault else sums.measure(), fault, True
            )
        )
    return layers
