"""Draft: the graph.py of a model, from its inputs to outputs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..names import usable
from .feed import Feed
from .heads import write_outputs
from .kinds import Kind, kind_of
from .look import look
from .source import Check, Source, quoted

__all__ = ["Check", "Draft", "draft"]

_DETECTOR_SIDE = 640


@dataclass(frozen=True)
class Draft:
    """The text of a graph.py, what it is for, and what to look at in it.

    inputs: the names of the pipeline's. gears: the only batch that the file takes, if it is above 1.
    """

    text: str
    kind: Kind
    checks: tuple[Check, ...]
    inputs: tuple[str, ...]
    gears: int | None


def draft(model: Path, place: Path, vocab: Path | None = None) -> Draft:
    """A pipeline around a model. place: where the file is to be, since its paths start there.

    vocab: of a text model; by default the vocab.txt that lies by it.
    Errors: ModelError, SpecError for a model that cannot be used.
    """
    seen = look(os.path.abspath(model))
    guess = kind_of(seen)
    if guess.kind is Kind.DETECTOR and not seen.size:
        seen = look(os.path.abspath(model), _DETECTOR_SIDE)
    folder = place.absolute().parent
    name = usable(seen.model.model_name)
    source = Source()
    for line in (f'"""{name}: {guess.kind.value}."""', "", "import ops", "from ge_engine import Model"):
        source.add(line)
    source.add("from pipeline import Pipeline")
    source.add()
    if guess.doubt:
        source.check(f"what the model is for is not sure: {guess.doubt}")
    source.add(f"pipeline = Pipeline({quoted(name)})")
    feed = Feed(source, seen, guess, vocab, lambda path: _relative(path, folder))
    batch = seen.model.fixed_batch or 1
    if batch > 1:
        source.check(
            f"the file fixes its batch to {batch}: give --gears {batch}; gepipe inspect says whether it can be freed; "
            "then --fix does that"
        )
    source.call("model = Model", quoted(_relative(Path(seen.model.file), folder)))
    write_outputs(source, seen, guess, feed.given, feed.inputs)
    return Draft(source.text, guess.kind, tuple(source.checks), feed.inputs, batch if batch > 1 else None)


def _relative(path: Path, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return str(path)
