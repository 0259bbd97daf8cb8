"""Routes: which steps make one kind of model of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ge_engine.inspect.facts import facts_of
from ge_engine.inspect.repair import NAMES
from ge_engine.tensorflow.graph_def import plain, read_graph_def
from ge_engine.tensorflow.rewrite import Output, write_graph
from ops import ModelError, WrongUse

from ..inspect.mend import mend
from .child import run, run_side
from .source import FROZEN, ONNX, SAVED_MODEL, TFLITE, TORCH, Source

OPSET = 17
_FOLDING = ("constants", "dead")  # the fixes of inspect that leave inputs and outputs as they are


@dataclass(frozen=True)
class Wanted:
    """outputs: those to keep, in this order; all by default. signature: of a SavedModel. python: it has the framework.

    sizes: of dims that vary, beside the batch. batches: for which an ONNX model is folded.
    """

    python: str
    opset: int = 0
    outputs: tuple[str, ...] = ()
    signature: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    batches: tuple[int, ...] | None = None


Route = Callable[[Source, Path, Wanted], None]


def route(source: Source, ending: str) -> Route:
    """What makes a file with this ending of a source. Errors: WrongUse where nothing does."""
    found = _ROUTES.get((source.kind, ending))
    if found is None:
        others = " or ".join(end for kind, end in _ROUTES if kind == source.kind)
        raise WrongUse(f"{source.kind} is not converted to {ending}", fix=f"name a file {others}")
    return found


def frozen_of_saved_model(source: Source, target: Path, wanted: Wanted) -> None:
    """Freeze, and call the outputs as the signature does. Errors: as run_side; ModelError for an unknown output."""
    raw = target.with_suffix(".raw.pb")
    job = {"do": "freeze", "source": source.path, "signature": wanted.signature, "target": str(raw)}
    made = run_side(wanted.python, "tensorflow_side", job)["outputs"]
    for name in wanted.outputs:
        if name not in made:
            raise ModelError(f"{source.path} has no output '{name}'", fix=f"it has {', '.join(made)}")
    graph = read_graph_def(str(raw))
    outputs = [Output(name, plain(made[name][0]), made[name][1]) for name in wanted.outputs or made]
    write_graph(graph, {}, outputs, target)
    raw.unlink()


def onnx_of_frozen(source: Source, target: Path, wanted: Wanted) -> None:
    """By tf2onnx. Errors: as run; ModelError for an unknown output."""
    graph = read_graph_def(source.path)
    outputs = graph.outputs(wanted.outputs)
    inputs = [port.name for port in graph.placeholders(outputs)]
    _tf2onnx(["--graphdef", source.path, *_named("inputs", inputs), *_named("outputs", outputs)], target, wanted)


def onnx_of_saved_model(source: Source, target: Path, wanted: Wanted) -> None:
    """By way of a frozen graph: what tf2onnx reads itself it loads without Keras' older classes."""
    frozen = target.with_suffix(".frozen.pb")
    frozen_of_saved_model(source, frozen, wanted)
    onnx_of_frozen(Source(FROZEN, str(frozen)), target, wanted)
    frozen.unlink()


def onnx_of_tflite(source: Source, target: Path, wanted: Wanted) -> None:
    """By tf2onnx. Errors: as run."""
    chosen = ["--outputs", ",".join(wanted.outputs)] if wanted.outputs else []
    _tf2onnx(["--tflite", source.path, *chosen], target, wanted)


def onnx_of_torch(source: Source, target: Path, wanted: Wanted) -> None:
    """By torch.onnx.export. Errors: as run_side."""
    job = {
        "do": "export", "function": source.path, "folder": source.folder, "inputs": source.inputs,
        "outputs": list(wanted.outputs or source.outputs), "opset": wanted.opset or source.opset or OPSET,
        "target": str(target),
    }  # fmt: skip
    run_side(wanted.python, "torch_side", job)


def onnx_of_onnx(source: Source, target: Path, wanted: Wanted) -> None:
    """What is constant is folded, what nobody needs is left out, by the fixes of inspect. Errors: ModelError."""
    if wanted.outputs or wanted.opset:
        raise WrongUse("--outputs and --opset are for other sources than ONNX", fix="gepipe inspect --fix does more")
    facts = facts_of(source.path, wanted.batches, [wanted.sizes] if wanted.sizes else [])
    mend(facts, wanted.batches, [wanted.sizes] if wanted.sizes else [], target, [n for n in NAMES if n not in _FOLDING])


def _tf2onnx(arguments: Sequence[str], target: Path, wanted: Wanted) -> None:
    command = ["-m", "tf2onnx.convert", *arguments, "--output", str(target), "--opset", str(wanted.opset or OPSET)]
    printed = run(wanted.python, command)
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
