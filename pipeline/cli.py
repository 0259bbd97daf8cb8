"""gepipe: the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import Finding, ValidationError, WrongUse
from ops.near import near

from . import costs
from .answers import answer_table, to_json
from .command import (
    FAILED,
    AsJson,
    Debug,
    DeploymentFile,
    DeviceName,
    Exact,
    GearsText,
    Streams,
    Target,
    app,
    check_device,
    errors,
    make_plan,
    new_table,
    note,
    open_session,
    out,
    print_json,
    settings_of,
)
from .doctor import examine
from .explain import explain, rows
from .load import load
from .measure_costs import measured_costs
from .parse import sample_from
from .rulebook import BOOK
from .triton.log_doctor import explain_log
from .trouble import print_findings
from .tune import what_if as asking

__all__ = ["app", "main"]


@app.command()
def check(
    target: Target, gears: GearsText = None, deployment: DeploymentFile = None, as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Advice counts too.")] = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Validate a pipeline: every problem in one report."""
    with errors(debug):
        settings = settings_of(deployment, gears)
        findings: Sequence[Finding]
        try:
            graph = load(target).validate(settings)
            subject, findings = str(graph), graph.advice
        except ValidationError as error:
            if debug and error.__cause__:
                raise
            subject, findings = error.message.partition(":")[0], error.findings
        if as_json:
            print_json({"findings": [finding.as_dict() for finding in findings]})
        else:
            print_findings(findings, subject, out)
        if any(strict or finding.severity != "advice" for finding in findings):
            raise typer.Exit(FAILED)


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
        typer.Option("--dump", metavar="DIR", help="Write the graph after each pass, and each gear's ONNX."),
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
        Optional[Path], typer.Option("--trace", metavar="FILE", help="Write what happened when, for ui.perfetto.dev.")
    ] = None,
    dump: Annotated[
        Optional[Path],
        typer.Option("--dump", metavar="DIR", help="Write every value, also those inside the models, as npz files."),
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


@app.command()
def doctor(
    log: Annotated[Optional[Path], typer.Option("--log", metavar="FILE", help="Explain a server's log.")] = None,
    root: Annotated[Path, typer.Option("--root", hidden=True, help="Look for devices and CANN below it.")] = Path("/"),
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Look at the installation: versions, packages, devices, the NPU. With --log, say what a server's log means."""
    with errors(debug):
        if log is not None:
            _explain_log(log, as_json)
            return
        checks = list(examine(root))
        if as_json:
            print_json({"checks": [vars(check) for check in checks]})
        else:
            for item in checks:
                out.print(Text(str(item), style="" if item.ok else "red"), soft_wrap=True)
        if not all(item.ok for item in checks):
            raise typer.Exit(FAILED)


@app.command()
def rule(
    rule_id: Annotated[Optional[str], typer.Argument(metavar="RULE", help="As G04; without it, all of them.")] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a rule: why it is there, a bad line and a good one."""
    with errors(debug):
        if rule_id is not None and rule_id.upper() not in BOOK:
            raise WrongUse(f"there is no rule {rule_id}", fix=near(rule_id.upper(), BOOK))
        chosen = list(BOOK.values()) if rule_id is None else [BOOK[rule_id.upper()]]
        if as_json:
            print_json({"rules": [vars(item) for item in chosen]})
        elif rule_id is None:
            table = new_table("rule", "what it asks")
            for item in chosen:
                table.add_row(item.id, Text(item.title))
            out.print(table)
        else:
            (item,) = chosen
            out.print(Text(f"{item.id}  {item.title}\n\n{item.why}"))
            for what, code in (("bad", item.bad), ("good", item.good)):
                lines = code.replace("\n", "\n    ")
                out.print(Text(f"\n{what}:\n    {lines}"), soft_wrap=True)


def main() -> None:
    """The entry point: `gepipe`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter still gets the rest
            stream.reconfigure(errors="backslashreplace")
    app()


def _explain_log(log: Path, as_json: bool) -> None:
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            found = list(explain_log(file))
    except OSError as error:
        raise WrongUse(f"{log} cannot be read: {error.strerror}", fix="name a log file of tritonserver") from error
    if as_json:
        print_json({"lines": [found_line.as_dict() for found_line in found]})
    elif not found:
        out.print(Text(f"{log}\nno line that is known"), soft_wrap=True)
    for line in found if not as_json else ():
        text = Text(f"{log}:{line.line}: ").append(line.text, style="red").append(f"\n    {line.entry.meaning}")
        text.append(f"\n    fix: {line.entry.fix}", style="green")
        out.print(text.append(f" (gepipe rule {line.entry.rule})" if line.entry.rule else ""), soft_wrap=True)
    if found:
        raise typer.Exit(FAILED)


# They register their commands, in the order in which --help shows them.
from . import bench_command, cache_commands  # noqa: E402, F401
from .compare import compare_command  # noqa: E402, F401
from .convert import convert_command  # noqa: E402, F401
from .draw import draw_command  # noqa: E402, F401
from .inspect import inspect_command  # noqa: E402, F401
from .new import new_command  # noqa: E402, F401
from .report_page import report_command  # noqa: E402, F401
from .triton import commands  # noqa: E402, F401
from .tune import tune_command  # noqa: E402, F401
