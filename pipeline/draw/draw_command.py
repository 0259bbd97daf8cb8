"""The command `gepipe draw`: a compiled pipeline as SVG or Mermaid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ge_engine.whole_file import write_whole
from ops import WrongUse

from ..command import Debug, DeploymentFile, GearsText, Target, app, errors, make_plan, note, settings_of, writing
from ..load import load
from .drawing import Drawing
from .mermaid import mermaid
from .svg import svg
from .times import read_times

_KINDS = {".svg": svg, ".mmd": mermaid}


@app.command()
def draw(
    target: Target,
    output: Annotated[
        Optional[str],
        typer.Option("-o", "--output", metavar="FILE", help="A .svg or .mmd (Mermaid); -: Mermaid, printed."),
    ] = None,
    trace: Annotated[
        Optional[Path], typer.Option("--trace", metavar="FILE", help="Add the times of a trace: gepipe run --trace.")
    ] = None,
    stages: Annotated[bool, typer.Option("--stages", help="Each stage as one box: what an export makes.")] = False,
    gears: GearsText = None, deployment: DeploymentFile = None, debug: Debug = False,
) -> None:  # fmt: skip
    """Draw a compiled pipeline: its nodes, what passes between them, its stages. By default NAME.svg."""
    with errors(debug):
        if output not in (None, "-") and Path(output or "").suffix not in _KINDS:
            raise WrongUse(f"{output} is neither .svg nor .mmd", fix="name a file that ends in one of them, or -")
        settings = settings_of(deployment, gears)
        plan = make_plan(load(target).validate(settings), settings)
        times = None
        if trace is not None:
            nodes = [step.name for step in plan.graph.steps]
            times = read_times(trace, nodes, plan.built)
        drawing = Drawing.of_stages(plan, times) if stages else Drawing.of(plan, times)
        if output == "-":
            typer.echo(mermaid(drawing).encode(), nl=False)
            return
        file = Path(output or f"{plan.graph.name}.svg")
        with writing(file):
            write_whole(file, _KINDS[file.suffix](drawing))
        note(f"{file}")
