"""The command `gepipe run`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Optional

import typer

from .answers import answer_table, to_json
from .command import (
    AsJson,
    Debug,
    DeploymentFile,
    DeviceName,
    Exact,
    GearsText,
    Target,
    app,
    check_device,
    errors,
    make_plan,
    named,
    note,
    open_session,
    out,
    print_json,
    settings_of,
)
from .load import load
from .parse import sample_from


@app.command()
def run(
    target: Target,
    inputs: Annotated[
        Optional[list[str]],
        typer.Option(
            "-i", "--input", metavar="NAME=VALUE", help="For each input: text, an array as JSON, or @FILE: x=@a.jpg."
        ),
    ] = None,
    device: DeviceName = "cpu",
    gears: GearsText = None, exact: Exact = False, deployment: DeploymentFile = None,
    trace: Annotated[
        Optional[Path],
        typer.Option("--trace", metavar="FILE", callback=named, help="Write what happened when, for ui.perfetto.dev."),
    ] = None,
    dump: Annotated[
        Optional[Path],
        typer.Option(
            "--dump", metavar="DIR", callback=named,
            help="Write every value, also those inside the models, as npz files.",
        ),
    ] = None,
    stats: Annotated[bool, typer.Option("--stats", help="Show on the error output where the time went.")] = False,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Run a pipeline on one sample."""
    with errors(debug):
        settings = settings_of(deployment, gears, exact=exact)
        check_device(device)
        graph = load(target).validate(settings)
        sample = sample_from(inputs or [], graph.inputs)
        with open_session(make_plan(graph, settings), device) as session:
            dumping = session.dump_data(dump, layers=True) if dump else nullcontext()
            with session.trace(trace) if trace else nullcontext(), dumping:
                answer = session.run(**sample)
            if stats:
                note(str(session.stats()))
        if as_json:
            print_json(to_json(answer))
        else:
            out.print(answer_table(answer, graph.outputs))
