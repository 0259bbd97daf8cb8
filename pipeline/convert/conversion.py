"""Conversion: make a model of another kind, hold it against its source, and put it in its place only if they agree."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ge_engine import Model
from ge_engine.model_file import ENDINGS
from ops import WrongUse

from .answers import runnable
from .axes import by_name
from .comparison import Row
from .entry import Golden, write_entry
from .options import Options
from .routes import Found, route
from .samples import given
from .source import FROZEN, Source, source_of
from .trial import Pair, held, sampler_of
from .why_not import WhyNot, why_not

Say = Callable[[str], None]


@dataclass(frozen=True)
class Converted:
    """rows: the comparison with the source. files: what is there now. why_not: the reason, where there is nothing."""

    kind: str
    rows: tuple[Row, ...]
    files: tuple[Path, ...]
    why_not: WhyNot | None = None

    @property
    def ok(self) -> bool:
        return self.why_not is None


def convert(source: str, target: Path, options: Options | None = None, say: Say = lambda text: None) -> Converted:
    """Convert a model to an .onnx or .pb file, or to an entry of a model repository (a folder, without an ending).

    Errors: WrongUse for what cannot be asked for; ModelError for a model that cannot be converted.
    """
    options = options or Options()
    found = source_of(source)
    is_file = target.suffix in ENDINGS
    _check_place(target, source, is_file)
    if not is_file and len(options.sizes) > 1:
        raise WrongUse("an entry of a repository has one size", fix="give --at once, and make an entry for each size")
    if not is_file and found.kind == FROZEN:
        return _entry_of_frozen(found, target, options)
    beside = target.absolute().parent if is_file else None  # a polling server would look at a folder in a repository
    with tempfile.TemporaryDirectory(dir=beside, prefix=f".{target.name}.") as folder:
        made = Path(folder, target.name if is_file else "model.onnx")
        say(f"converting: {found.kind} to {made.suffix if is_file else 'an entry of a repository'}")
        facts = route(found, made.suffix)(found, made, options) or Found()
        if facts.told:
            say(facts.told)
        say("comparing")
        return _held(found, made, facts, target, options, say)


def _held(source: Source, made: Path, facts: Found, target: Path, options: Options, say: Say) -> Converted:
    """Hold what was made against its source, and put it in its place."""
    pair, is_file = Pair(source, runnable(made), options), target.suffix in ENDINGS
    settings = by_name(pair.model.inputs, options.sizes or (facts.sizes,))
    sampler = sampler_of(pair, settings[0], facts.ids)
    tried = held(pair, sampler, settings, everywhere=is_file, say=say)
    rows = tuple(row for one in tried for row in one.rows)
    if not all(one.ok for one in tried):
        traced = {**settings[0], **facts.sizes}
        return Converted(source.kind, rows, (), why_not(pair, sampler, tried, traced, facts.batch))
    if is_file:
        return Converted(source.kind, rows, _placed(made.parent, target))
    served = [one for one in tried if one.point.sizes == settings[0]][-1]  # the user's own inputs, if they fit
    golden = Golden(served.point.feeds, served.answers, source.kind)
    write_entry(Model(str(made), target.name), pair.model, target, settings[0], options, golden)
    return Converted(source.kind, rows, (target,))


def _entry_of_frozen(source: Source, target: Path, options: Options) -> Converted:
    """It is the same graph, so there is nothing to compare."""
    op = Model(os.path.abspath(source.path), target.name, outputs=options.outputs)
    model = runnable(Path(op.file))
    (sizes,) = by_name(model.inputs, options.sizes or ({},))
    if options.data is not None:
        feeds = given(options.data, model.inputs)
    else:
        feeds = sampler_of(Pair(source, model, options), sizes).points()[-1].feeds
    write_entry(op, model, target, sizes, options, Golden(feeds))
    return Converted(source.kind, (), (target,))


def _check_place(target: Path, source: str, is_file: bool) -> None:
    if target.suffix and not is_file:
        raise WrongUse(f"{target} is neither .onnx nor .pb", fix="name such a file, or a folder: models/NAME")
    if is_file and target.is_dir():
        raise WrongUse(f"{target} is a folder", fix="name a file, or remove the folder")
    if not is_file and os.path.lexists(target):
        raise WrongUse(f"{target} is there already", fix="remove it, or give another name")
    parent = target.absolute().parent
    if not is_file:
        with suppress(FileExistsError, NotADirectoryError):
            parent.mkdir(parents=True, exist_ok=True)
    if not parent.is_dir():
        raise WrongUse(f"{parent} is no folder", fix="make it, or name another")
    if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
        raise WrongUse(f"{target} is the source itself", fix="name another file: the source stays as it is")


def _placed(folder: Path, target: Path) -> tuple[Path, ...]:
    """Move what was made to where it is to be, the model itself last."""
    made = sorted(folder.iterdir(), key=lambda path: path.name == target.name)
    for path in made:
        os.replace(path, target.parent / path.name)
    return tuple(target.parent / path.name for path in made)
