"""The command `gepipe new`: a graph.py to start from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ge_engine.whole_file import write_whole
from ops import WrongUse

from ..command import AsJson, Debug, app, errors, named, out, print_json, writing
from .draft import Draft, draft


@app.command()
def new(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.onnx or model.pb")],
    place: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", callback=named, help="What to write.")
    ] = Path("graph.py"),
    vocab: Annotated[
        Optional[Path], typer.Option("--vocab", metavar="FILE", help="Of a text model. By default vocab.txt by it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Write a pipeline to start from, by what a model's file says; what it could not know is marked CHECK."""
    with errors(debug):
        if place.suffix != ".py":
            raise WrongUse(f"{place} is no Python file", fix="give it a name that ends with .py")
        if vocab is not None and not vocab.is_file():
            raise WrongUse(f"there is no file {vocab}", fix="name a vocabulary, one token a line")
        made = draft(model, place, vocab)
        if vocab is not None and made.inputs != ("text",):
            raise WrongUse(f"{model} has no inputs that the ids of a text would fit", fix="leave --vocab out")
        _write(made, place, force)
        following = _next(made, place)
        if as_json:
            checks = [check._asdict() for check in made.checks]
            print_json({"file": str(place), "kind": made.kind.name.lower(), "checks": checks, "next": following})
            return
        out.print(Text(f"{place}: {made.kind.value}"), soft_wrap=True)
        for check in made.checks:
            out.print(Text(f"  {place}:{check.line}: {check.told}"), soft_wrap=True)
            for line in check.instead:
                out.print(Text(f"      {line}"), soft_wrap=True)
        out.print(Text("\nnext:"))
        for command in following:
            out.print(Text(f"  {command}"), soft_wrap=True)


def _write(made: Draft, place: Path, force: bool) -> None:
    """Errors: WrongUse where there is a file already, or none can be written."""
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(place) and not force:
            raise WrongUse(f"{place} is there", fix="name another file with -o, or write over it with --force")
        write_whole(place, made.text)


_VALUES = {"image": "@photo.jpg", "text": "hello"}


def _next(made: Draft, place: Path) -> list[str]:
    inputs = "".join(f" -i {name}={_VALUES.get(name, f'@{name}.npy')}" for name in made.inputs)
    gears = f" --gears {made.gears}" if made.gears else ""
    words = (f"check {place}", f"run {place}{inputs}", f"export {place} -o models")
    return [f"gepipe {command}{gears}" for command in words]
