"""gepipe: the command line."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ge_engine.devices import open_device
from ops import DeviceError, Finding, SpecError, ValidationError, WrongUse
from ops.near import near

from . import costs
from .answers import answer_table, to_json
from .deployment import Deployment
from .doctor import examine
from .explain import explain, rows
from .graph import Graph
from .load import load
from .parse import sample_from
from .plan import Plan
from .rulebook import BOOK
from .triton.log_doctor import explain_log
from .trouble import print_findings, say

app = typer.Typer(
    name="gepipe",
    help="Declare a pipeline once; check, plan and run it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Target = Annotated[str, typer.Argument(metavar="PIPELINE", help="graph.py, graph.py:name or module:name")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
DeploymentFile = Annotated[
    Optional[Path],
    typer.Option(
        "--deployment",
        metavar="FILE",
        help='Settings as JSON, as {"gears": [1, 4], "streams": 2}: see help(pipeline.Deployment).',
    ),
]
GearsText = Annotated[
    Optional[str],
    typer.Option("--gears", metavar="SIZES", help='Batch sizes, as "1,2,4,8": a static graph for each. By default 1.'),
]
Streams = Annotated[Optional[int], typer.Option("--streams", help="How many batches may run at once. By default 1.")]
DeviceName = Annotated[str, typer.Option("--device", help="cpu, or null: answers zeros, without calculating.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]

FAILED = 1
WRONG_USE = 2


@app.command()
def check(
    target: Target, gears: GearsText = None, deployment: DeploymentFile = None, as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Advice counts too.")] = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Validate a pipeline: every problem in one report."""
    with _errors(debug):
        settings = _settings(deployment, gears)
        findings: Sequence[Finding]
        try:
            graph = load(target).validate(settings)
            subject, findings = str(graph), graph.advice
        except ValidationError as error:
            if debug and error.__cause__:
                raise
            subject, findings = error.message.partition(":")[0], error.findings
        if as_json:
            _print_json({"findings": [finding.as_dict() for finding in findings]})
        else:
            print_findings(findings, subject, out)
        if any(strict or finding.severity != "advice" for finding in findings):
            raise typer.Exit(FAILED)


@app.command()
def plan(
    target: Target, gears: GearsText = None, streams: Streams = None, deployment: DeploymentFile = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="First measure the cost table, for plans that run on this CPU.")
    ] = False,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a compiled pipeline: stages, edges, placement, gears, and what the passes changed."""
    with _errors(debug):
        if measure:
            costs.measure()
            err.print(Text(f"the cost table of this machine is in {costs.file()}"), soft_wrap=True)
        settings = _settings(deployment, gears, streams)
        compiled = _compile(load(target).validate(settings), settings)
        if as_json:
            findings = [finding.as_dict() for finding in compiled.findings]
            changes = [vars(change) for change in compiled.changes]
            values = [row._asdict() for row in rows(compiled)]
            _print_json({"rows": values, "changes": changes, "findings": findings})
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
    gears: GearsText = None, deployment: DeploymentFile = None,
    trace: Annotated[
        Optional[Path], typer.Option("--trace", metavar="FILE", help="Write what happened when, for ui.perfetto.dev.")
    ] = None,
    stats: Annotated[bool, typer.Option("--stats", help="Show on the error output where the time went.")] = False,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Run a pipeline on one sample."""
    with _errors(debug):
        settings = _settings(deployment, gears)
        _check_device(device)
        graph = load(target).validate(settings)
        sample = sample_from(inputs or [], graph.inputs)
        with _compile(graph, settings).session(device) as session:
            with session.trace(trace) if trace else nullcontext():
                answer = session.run(**sample)
            if stats:
                err.print(Text(str(session.stats())), soft_wrap=True)
        if as_json:
            _print_json(to_json(answer))
        else:
            out.print(answer_table(answer, graph.outputs))


@app.command()
def doctor(
    log: Annotated[Optional[Path], typer.Option("--log", metavar="FILE", help="Explain a server's log.")] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Look at the installation: versions, packages, devices. With --log, say what a server's log means."""
    with _errors(debug):
        if log is not None:
            _explain_log(log, as_json)
            return
        checks = list(examine())
        if as_json:
            _print_json({"checks": [vars(check) for check in checks]})
        else:
            table = _table("", "what", "seen")
            for item in checks:
                seen = item.seen if item.ok else f"{item.seen}\nfix: {item.fix}"
                table.add_row(
                    Text("ok" if item.ok else "NO", style="green" if item.ok else "red"), item.name, Text(seen)
                )
            out.print(table)
        if not all(item.ok for item in checks):
            raise typer.Exit(FAILED)


@app.command()
def rule(
    rule_id: Annotated[Optional[str], typer.Argument(metavar="RULE", help="As G04; without it, all of them.")] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a rule: why it is there, a bad line and a good one."""
    with _errors(debug):
        if rule_id is not None and rule_id.upper() not in BOOK:
            raise WrongUse(f"there is no rule {rule_id}", fix=near(rule_id.upper(), BOOK))
        chosen = list(BOOK.values()) if rule_id is None else [BOOK[rule_id.upper()]]
        if as_json:
            _print_json({"rules": [vars(item) for item in chosen]})
        elif rule_id is None:
            table = _table("rule", "what it asks")
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
    from . import bench_command, cache_commands  # noqa: F401  # they register their commands
    from .triton import commands  # noqa: F401  # registers the commands for Triton

    app()


def _settings(file: Path | None, gears: str | None = None, streams: int | None = None) -> Deployment:
    fields: dict[str, Any] = {"gears": gears, "streams": streams}
    try:
        base = Deployment.from_json(file.read_text(encoding="utf-8")) if file else None
        return Deployment.of(base, **{name: value for name, value in fields.items() if value is not None})
    except SpecError as error:
        raise WrongUse(error.message, fix=error.fix, where=str(file or "")) from error
    except (OSError, ValueError) as error:
        raise WrongUse(f"{file} cannot be read: {error}", fix="name a JSON file of settings") from error


def _check_device(name: str) -> None:
    try:
        open_device(name).close()
    except DeviceError as error:
        raise WrongUse(error.message, fix=error.fix) from error


def _compile(graph: Graph, settings: Deployment) -> Plan:
    """Compile, with a progress bar on stderr where that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("compile", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        return Plan.of(graph, settings, show)


def _explain_log(log: Path, as_json: bool) -> None:
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            found = list(explain_log(file))
    except OSError as error:
        raise WrongUse(f"{log} cannot be read: {error.strerror}", fix="name a log file of tritonserver") from error
    if as_json:
        _print_json({"lines": [found_line.as_dict() for found_line in found]})
    elif not found:
        out.print(Text(f"{log}\nno line that is known"), soft_wrap=True)
    for line in found if not as_json else ():
        text = Text(f"{log}:{line.line}: ").append(line.text, style="red").append(f"\n    {line.entry.meaning}")
        text.append(f"\n    fix: {line.entry.fix}", style="green")
        out.print(text.append(f" (gepipe rule {line.entry.rule})" if line.entry.rule else ""), soft_wrap=True)
    if found:
        raise typer.Exit(FAILED)


@contextmanager
def _errors(debug: bool) -> Iterator[None]:
    """Errors as text and an exit code, unless --debug."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError, SystemExit):  # rich exits when nobody reads on
        raise
    except ValidationError as error:
        if debug:
            raise
        print_findings(error.findings, error.message.partition(":")[0], err)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        if debug:
            raise
        err.print(Text(say(error), style="red"), soft_wrap=True)
        raise typer.Exit(WRONG_USE if isinstance(error, WrongUse) else FAILED) from None


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _print_json(document: Any) -> None:
    """UTF-8 as it is; other encodings get escapes, which every JSON reader understands."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(document, ensure_ascii=not utf8, indent=1) + "\n")
