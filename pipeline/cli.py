"""gepipe: the command line."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ops import DeclarationError, Finding, GepipeError, SpecError, ValidationError

from .answers import answer_table, to_json
from .deployment import Deployment
from .doctor import examine
from .explain import explain, rows
from .load import load
from .near import near
from .parse import sample_from
from .plan import Plan
from .rules import RULES

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
DeploymentFile = Annotated[Optional[Path], typer.Option("--deployment", help="A Deployment as JSON.")]
GearsText = Annotated[Optional[str], typer.Option("--gears", help='Batch sizes, as "1,2,4,8".')]
Streams = Annotated[Optional[int], typer.Option("--streams", help="Execution contexts.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]

WRONG_USE = 2


@app.command()
def check(
    target: Target, as_json: AsJson = False, deployment: DeploymentFile = None,
    strict: Annotated[bool, typer.Option("--strict", help="Advice counts too.")] = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Validate a pipeline: every problem in one report."""
    with _errors(debug):
        pipeline = load(target)
        settings = _settings(deployment)
        try:
            graph = pipeline.validate(settings)
        except ValidationError as error:
            _print_findings(error.findings, as_json, f"pipeline '{pipeline.name}'")
            raise typer.Exit(1) from None
        _print_findings(graph.advice, as_json, str(graph))
        if strict and graph.advice:
            raise typer.Exit(1)


@app.command()
def plan(
    target: Target, gears: GearsText = None, streams: Streams = None, deployment: DeploymentFile = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a compiled pipeline: stages, edges, placement, gears."""
    with _errors(debug):
        compiled = _compile(target, _settings(deployment, gears, streams))
        if as_json:
            findings = [finding.as_dict() for finding in compiled.findings]
            _print_json({"rows": [row._asdict() for row in rows(compiled)], "findings": findings})
        else:
            typer.echo(explain(compiled))


@app.command()
def run(
    target: Target,
    inputs: Annotated[
        Optional[list[str]], typer.Option("-i", "--input", metavar="NAME=VALUE", help="A value, or @FILE.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu or null.")] = "cpu",
    deployment: DeploymentFile = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Run a pipeline on one sample."""
    with _errors(debug):
        compiled = _compile(target, _settings(deployment))
        sample = sample_from(inputs or [], compiled.graph.inputs)
        with compiled.session(device) as session:
            answer = session.run(**sample)
        if as_json:
            _print_json(to_json(answer))
        else:
            out.print(answer_table(answer, compiled.graph.outputs))


@app.command()
def doctor(as_json: AsJson = False, debug: Debug = False) -> None:
    """Look at the installation: versions, packages, devices."""
    with _errors(debug):
        checks = list(examine())
        if as_json:
            _print_json({"checks": [vars(check) for check in checks]})
        else:
            table = Table(box=None, pad_edge=False)
            for heading in ("", "what", "seen"):
                table.add_column(heading)
            for item in checks:
                seen = item.seen if item.ok else f"{item.seen}\nfix: {item.fix}"
                table.add_row(
                    Text("ok" if item.ok else "NO", style="green" if item.ok else "red"), item.name, Text(seen)
                )
            out.print(table)
        if not all(item.ok for item in checks):
            raise typer.Exit(1)


@app.command()
def rule(
    rule_id: Annotated[Optional[str], typer.Argument(metavar="RULE", help="As G04; without it, all of them.")] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a rule: why it is there, a bad line and a good one."""
    with _errors(debug):
        if rule_id is not None and rule_id.upper() not in RULES:
            raise DeclarationError(f"there is no rule {rule_id}", fix=near(rule_id.upper(), RULES))
        chosen = list(RULES.values()) if rule_id is None else [RULES[rule_id.upper()]]
        if as_json:
            _print_json({"rules": [vars(item) for item in chosen]})
        elif rule_id is None:
            for item in chosen:
                out.print(Text(f"{item.id}  {item.title}"))
        else:
            (item,) = chosen
            out.print(Text(f"{item.id}  {item.title}\n\n{item.why}\n\nbad:   {item.bad}\ngood:  {item.good}"))


def main() -> None:
    """The entry point: `gepipe`."""
    app()


def _settings(file: Path | None, gears: str | None = None, streams: int | None = None) -> Deployment:
    fields: dict[str, Any] = {}
    if gears is not None:
        fields["gears"] = gears
    if streams is not None:
        fields["streams"] = streams
    try:
        base = Deployment.from_json(file.read_text(encoding="utf-8")) if file else None
        return Deployment.of(base, **fields)
    except (OSError, SpecError) as error:
        raise _WrongUse(str(error)) from error


def _compile(target: str, settings: Deployment) -> Plan:
    """Compile with a progress bar on stderr."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    pipeline = load(target)
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("validate", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        return pipeline.compile(settings, progress=show)


class _WrongUse(GepipeError):
    """What was typed cannot be done."""


@contextmanager
def _errors(debug: bool) -> Iterator[None]:
    """Errors as text and an exit code, unless --debug."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except ValidationError as error:
        if debug:
            raise
        _print_findings(error.findings, False, error.message.partition(":")[0], err)
        raise typer.Exit(1) from None
    except Exception as error:
        if debug:
            raise
        err.print(Text(_say(error), style="red"))
        raise typer.Exit(WRONG_USE if isinstance(error, (_WrongUse, DeclarationError)) else 1) from None


def _say(error: Exception) -> str:
    """One of ours as it is; anything else came out of the user's file, so say where."""
    if isinstance(error, GepipeError):
        return f"{type(error).__name__.lstrip('_')}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    library = os.path.dirname(os.path.abspath(__file__))
    mine = [frame for frame in frames if os.path.exists(frame.filename) and not frame.filename.startswith(library)]
    where = f"{mine[-1].filename}:{mine[-1].lineno}: " if mine else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}:{error.lineno}: "
    return f"{where}{type(error).__name__}: {error}"


def _print_findings(findings: Sequence[Finding], as_json: bool, subject: str, console: Console = out) -> None:
    if as_json:
        _print_json({"findings": [finding.as_dict() for finding in findings]})
        return
    if not findings:
        console.print(Text(f"{subject}\nno problem found"))
        return
    count = f"{len(findings)} finding{'s' if len(findings) > 1 else ''}"
    table = Table(title=Text(f"{subject}: {count}"), title_justify="left", box=None, pad_edge=False)
    for heading in ("rule", "severity", "where", "what and how to mend it"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        style = "yellow" if finding.severity == "advice" else "red"
        what = Text(f"{finding.message}\n").append(f"fix: {finding.fix}", style="green")
        table.add_row(Text(finding.rule, style=style), finding.severity, Text(finding.where), what)
    console.print(table)


def _print_json(document: Any) -> None:
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")
