"""Routes: which steps make one kind of model of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import onnx

from ge_engine.inspect.facts import facts_of
from ge_engine.inspect.repair import NAMES
from ge_engine.openvino_runtime import Port
from ge_engine.tensorflow.graph_def import plain, read_graph_def
from ge_engine.tensorflow.rewrite import Output, write_graph
from ops import ModelError, WrongUse

from ..axis_sizes import unsized
from ..inspect.mend import mend
from .answers import frozen_inputs
from .axes import Sizes, by_name, tensors_of
from .child import run, run_side
from .options import Options
from .samples import TRACED
from .source import FROZEN, ONNX, SAVED_MODEL, TFLITE, TORCH, Source

OPSET = 17
_FOLDING = ("constants", "dead")  # the fixes of inspect that leave inputs and outputs as they are


@dataclass(frozen=True)
class Found:
    """What a route has found out on its way.

    sizes: those of the example inputs, of the axes that vary beside the batch. ids: between which two their whole
    numbers are, by input. told: what the user should know. batch: with which a model was traced.
    """

    sizes: Sizes = field(default_factory=dict)
    ids: Mapping[str, Sequence[int]] = field(default_factory=dict)
    told: str = ""
    batch: int = TRACED


Route = Callable[[Source, Path, Options], Optional[Found]]


def route(source: Source, ending: str) -> Route:
    """What makes a file with this ending of a source. Errors: WrongUse where nothing does."""
    found = _ROUTES.get((source.kind, ending))
    if found is None:
        others = " or ".join(end for kind, end in _ROUTES if kind == source.kind)
        raise WrongUse(f"{source.kind} is not converted to {ending}", fix=f"name a file {others}")
    return found


def frozen_of_saved_model(source: Source, target: Path, options: Options) -> None:
    """Freeze, and call the outputs as the signature does. Errors: as run_side; ModelError for an unknown output."""
    raw = target.with_suffix(".raw.pb")
    job = {"do": "freeze", "source": source.path, "signature": options.signature, "target": str(raw)}
    made = run_side(options.python, "tensorflow_side", job)["outputs"]
    for name in options.outputs:
        if name not in made:
            raise ModelError(f"{source.path} has no output '{name}'", fix=f"it has {', '.join(made)}")
    graph = read_graph_def(str(raw))
    outputs = [Output(name, plain(made[name][0]), made[name][1]) for name in options.outputs or made]
    write_graph(graph, {}, outputs, target)
    raw.unlink()


def onnx_of_frozen(source: Source, target: Path, options: Options) -> None:
    """By tf2onnx. Errors: as run; ModelError for an unknown output; WrongUse for an axis that has no size."""
    graph = read_graph_def(source.path)
    outputs = graph.outputs(options.outputs)
    inputs = frozen_inputs(graph, outputs)
    for sizes in by_name(inputs, options.sizes) or ({},):
        tensors_of(inputs, sizes, batch=1)
    names = [port.name for port in inputs]
    _tf2onnx(["--graphdef", source.path, *_named("inputs", names), *_named("outputs", outputs)], target, options)


def onnx_of_saved_model(source: Source, target: Path, options: Options) -> None:
    """By way of a frozen graph: what tf2onnx reads itself it loads without Keras' older classes."""
    frozen = target.with_suffix(".frozen.pb")
    frozen_of_saved_model(source, frozen, options)
    onnx_of_frozen(Source(FROZEN, str(frozen)), target, options)
    frozen.unlink()


def onnx_of_tflite(source: Source, target: Path, options: Options) -> None:
    """By tf2onnx. Errors: as run."""
    chosen = ["--outputs", ",".join(options.outputs)] if options.outputs else []
    _tf2onnx(["--tflite", source.path, *chosen], target, options)


def onnx_of_torch(source: Source, target: Path, options: Options) -> Found:
    """By torch.onnx.export. Errors: as run_side; WrongUse for axes that vary and have no size."""
    if source.inputs:
        ports = [Port(name, spec["dtype"], tuple(spec["shape"])) for name, spec in source.inputs.items()]
        sizes = by_name(ports, options.sizes)
    else:
        sizes = options.sizes
    job = {
        "do": "export", "function": source.path, "folder": source.folder, "inputs": source.inputs,
        "outputs": list(options.outputs or source.outputs), "opset": options.opset or source.opset or OPSET,
        "sizes": sizes[:1], "target": str(target),
    }  # fmt: skip
    report = run_side(options.python, "torch_side", job)
    if "unsized" in report:
        raise unsized(report["unsized"])
    kept = {port.name for port in onnx.load(str(target), load_external_data=False).graph.input}
    for name in report["inputs"]:
        if name not in kept:
            raise ModelError(f"the model does not use input '{name}'", fix="leave it out: give it a default in forward")
    return Found(report["sizes"], report["ids"], report["told"], report["batch"])


def onnx_of_onnx(source: Source, target: Path, options: Options) -> None:
    """What is constant is folded, what nobody needs is left out, by the fixes of inspect.

    Errors: ModelError; WrongUse for axes that vary and have no size.
    """
    if options.outputs or options.opset:
        raise WrongUse("--outputs and --opset are for other sources than ONNX", fix="gepipe inspect --fix does more")
    facts = facts_of(source.path, options.gears, options.sizes)
    if facts.unsized:
        raise unsized(facts.unsized)
    mend(facts, options.gears, options.sizes, target, [name for name in NAMES if name not in _FOLDING])


def _tf2onnx(arguments: Sequence[str], target: Path, options: Options) -> None:
    command = ["-m", "tf2onnx.convert", *arguments, "--output", str(target), "--opset", str(options.opset or OPSET)]
    printed = run(options.python, command)
    if not target.is_file():  # it exits with 0 where it gives up
        lines = "\n  ".join(printed.splitlines()[-4:])
        raise ModelError(f"tf2onnx wrote nothing:\n  {lines}", fix="look at its text")


def _named(kind: str, values: Sequence[str]) -> list[str]:
    """Options of tf2onnx for values, which get their names without a :0."""
    whole = [value if ":" in value else f"{value}:0" for value in values]
    return [f"--{kind}", ",".join(whole), f"--rename-{kind}", ",".join(values)]


_ROUTES: Mapping[tuple[str, str], Route] = {
    (SAVED_MODEL, ".pb"): frozen_of_saved_model,
    (SAVED_MODEL, ".onnx"): onnx_of_saved_model,
    (FROZEN, ".onnx"): onnx_of_frozen,
    (TFLITE, ".onnx"): onnx_of_tflite,
    (TORCH, ".onnx"): onnx_of_torch,
    (ONNX, ".onnx"): onnx_of_onnx,
}
