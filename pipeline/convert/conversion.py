"""Conversion: make a model of another kind, hold it against its source, and put it in its place only if they agree."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ge_engine import Model
from ge_engine.model_file import ENDINGS
from ops import WrongUse

from ..triton.releases import DEFAULT_TARGET
from .answers import runnable, source_answers
from .comparison import Row, compared
from .entry import write_entry
from .routes import Wanted, route
from .samples import feeds_for
from .source import FROZEN, Source, source_of

TOLERANCE = 1e-4  # relative to the largest value of an output


@dataclass(frozen=True)
class Options:
    """opset: of an ONNX file, 17 by default. outputs: those to keep. signature: of a SavedModel.

    sizes: by name ("height", or "x.2"), of dims that vary beside the batch. data: an .npz to compare on, too. gears,
    target: of an entry of a repository. python: the interpreter that has TensorFlow or PyTorch.
    """

    opset: int = 0
    outputs: tuple[str, ...] = ()
    signature: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    data: Path | None = None
    tolerance: float = TOLERANCE
    gears: tuple[int, ...] | None = None
    target: str = DEFAULT_TARGET
    python: str = sys.executable


@dataclass(frozen=True)
class Converted:
    """rows: the comparison with the source. files: what is there now; () where the two do not agree."""

    kind: str
    rows: tuple[Row, ...]
    files: tuple[Path, ...]

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)


def convert(
    source: str, target: Path, options: Options | None = None, say: Callable[[str], None] = lambda text: None
) -> Converted:
    """Convert a model to an .onnx or .pb file, or to an entry of a model repository (a folder, without an ending).

    Errors: WrongUse for what cannot be asked for; ModelError for a model that cannot be converted.
    """
    options = options or Options()
    _check_options(options)
    found = source_of(source)
    ending = target.suffix if target.suffix in ENDINGS else ""
    _check_place(target, source, ending)
    if not ending and found.kind == FROZEN:
        _write_entry(Model(os.path.abspath(source), target.name, outputs=options.outputs), target, options)
        return Converted(found.kind, (), (target,))
    wanted = Wanted(options.python, options.opset, options.outputs, options.signature, options.sizes, options.gears)
    beside = target.absolute().parent if ending else None  # a polling server would look at a folder in a repository
    with tempfile.TemporaryDirectory(dir=beside, prefix=f".{target.name}.") as folder:
        made = Path(folder, target.name if ending else "model.onnx")
        say(f"converting: {found.kind} to {made.suffix}")
        route(found, made.suffix)(found, made, wanted)
        say("comparing")
        converted = Converted(found.kind, tuple(_compared(found, made, options)), (target,))
        if not converted.ok:
            return replace(converted, files=())
        if not ending:
            _write_entry(Model(str(made), target.name), target, options)
            return converted
        return replace(converted, files=_placed(Path(folder), target))


def _write_entry(op: Model, target: Path, options: Options) -> None:
    write_entry(op, runnable(Path(op.file)), target, options.sizes, options.gears or (1,), options.target)


def _check_options(options: Options) -> None:
    if not options.tolerance >= 0:
        raise WrongUse(f"tolerance is {options.tolerance}", fix="give a number of at least 0, as 1e-4")
    if options.opset < 0:
        raise WrongUse(f"opset is {options.opset}", fix="give a number, as 17")
    for name in options.outputs:
        if not name or options.outputs.count(name) > 1:
            raise WrongUse(f"outputs are {', '.join(map(repr, options.outputs))}", fix="name each once")


def _check_place(target: Path, source: str, ending: str) -> None:
    if target.suffix and not ending:
        raise WrongUse(f"{target} is neither .onnx nor .pb", fix="name such a file, or a folder: models/NAME")
    if ending and target.is_dir():
        raise WrongUse(f"{target} is a folder", fix="name a file, or remove the folder")
    if not ending and os.path.lexists(target):
        raise WrongUse(f"{target} is there already", fix="remove it, or give another name")
    parent = target.absolute().parent
    if not ending:
        with suppress(FileExistsError, NotADirectoryError):
            parent.mkdir(parents=True, exist_ok=True)
    if not parent.is_dir():
        raise WrongUse(f"{parent} is no folder", fix="make it, or name another")
    if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
        raise WrongUse(f"{target} is the source itself", fix="name another file: the source stays as it is")


def _compared(source: Source, made: Path, options: Options) -> list[Row]:
    model = runnable(made)
    feeds = feeds_for(model, options.sizes, options.data)
    outputs = options.outputs or source.outputs
    wanted = source_answers(source, feeds, outputs, options.signature, options.python)
    names = [f"random {index + 1}" for index in range(len(feeds))]
    if options.data is not None:
        names[-1] = options.data.name
    return [
        row
        for name, one, answer in zip(names, feeds, wanted)
        for row in compared(name, answer, model(one), options.tolerance)
    ]


def _placed(folder: Path, target: Path) -> tuple[Path, ...]:
    """Move what was made to where it is to be, the model itself last."""
    made = sorted(folder.iterdir(), key=lambda path: path.name == target.name)
    for path in made:
        os.replace(path, target.parent / path.name)
    return tuple(target.parent / path.name for path in made)
