"""The command `gepipe plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from . import costs
from .command import (
    AsJson,
    Debug,
    DeploymentFile,
    Exact,
    GearsText,
    Streams,
    app,
    errors,
    make_plan,
    named,
    note,
    out,
    print_json,
    settings_of,
)
from .explain import explain, rows
from .load import load
from .measure_costs import measured_costs
from .tune import what_if as asking


@app.command()
def plan(
    target: Annotated[Optional[str], typer.Argument(metavar="PIPELINE", help="As for check.")] = None,
    gears: GearsText = None, streams: Streams = None, exact: Exact = False, deployment: DeploymentFile = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="First measure the cost table, for plans with model_backend=onnxruntime.")
    ] = False,
    what_if: asking.Question = None, what_if_from: asking.Measurements = None,
    dump: Annotated[
        Optional[Path],
        typer.Option(
            "--dump", metavar="DIR", callback=named, help="Write the graph after each pass, and each gear's ONNX."
        ),
    ] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a compiled pipeline: stages, edges, placement, gears, and what the passes changed."""
    with errors(debug):
        if measure:
            costs.keep(measured_costs())
            note(f"the cost table of this machine is in {costs.file()}")
        asked = asking.asked(what_if, what_if_from, target)
        if asked is not None and target is None:
            asking.answer(asked, None, as_json)
            return
        assert target is not None
        settings = settings_of(deployment, gears, streams, exact)
        if measure and settings.model_backend != costs.WEIGHED:
            used = f"the table is used with model_backend='{costs.WEIGHED}'"
            note(f"this plan is placed for {settings.model_backend}; {used}")
        compiled = make_plan(load(target).validate(settings), settings, prints=asked is None)
        if dump is not None:
            note(f"{len(compiled.dump_graph(dump))} files are in {dump}")
        if asked is not None:
            asking.answer(asked, compiled, as_json)
        elif as_json:
            findings = [finding.as_dict() for finding in compiled.findings]
            changes = [vars(change) for change in compiled.changes]
            values = [row._asdict() for row in rows(compiled)]
            print_json({"rows": values, "changes": changes, "findings": findings})
        else:
            out.print(Text(explain(compiled)), soft_wrap=True)
