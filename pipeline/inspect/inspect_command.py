"""The command `gepipe inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.console import Console

from ge_engine.gears import Gears
from ge_engine.inspect.facts import facts_of
from ge_engine.inspect.mended_file import check_place
from ge_engine.inspect.operators import Release, release_of
from ge_engine.inspect.repair import NAMES
from ge_engine.model_file import FROZEN
from ops import SpecError, WrongUse
from ops.near import near

from ..axis_sizes import At, axis_sizes
from ..command import FAILED, AsJson, Debug, app, errors, named, out, print_json, writing
from ..compare import compare
from ..compare.compare_command import Data
from ..findings import Strict, count_as_failure
from ..trouble import print_findings
from .document import document
from .judge import judge
from .mend import fixes_document, fixes_text, mend, not_made
from .table import lines


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An .onnx, or a frozen .pb.")],
    gears: Annotated[
        Optional[str], typer.Option("--gears", metavar="SIZES", help='Batch sizes, as "1,2,4,8". By default 1.')
    ] = None,
    at: At = None,
    streams: Annotated[int, typer.Option("--streams", min=1, help="For the memory on a card.")] = 1,
    cann: Annotated[
        Optional[str], typer.Option("--cann", metavar="VERSION", help="Whose operators: 8.5.0, 8.3.RC1, ...")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended, and prove each fix.")] = False,
    output: Annotated[
        Optional[Path],
        typer.Option("-o", "--output", metavar="FILE", callback=named, help="Where --fix writes the mended model."),
    ] = None,
    skip: Annotated[
        Optional[list[str]], typer.Option("--skip", metavar="FIX", help=f"Leave a fix out: {', '.join(NAMES)}.")
    ] = None,
    compare_with: Annotated[
        Optional[str], typer.Option("--compare", metavar="WHAT", help="Then `gepipe compare --with WHAT`: fp16, ...")
    ] = None,
    data: Data = None,
    strict: Strict = False,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Look into a model: what it is, what it costs in each gear, what hurts on an NPU; and mend what can be mended."""
    with errors(debug):
        batches, sizes, release = _batches(gears), axis_sizes(at or ()), _release(cann)
        _check_fix(fix, output, skip or (), str(model))
        if data is not None and compare_with is None:
            raise WrongUse("--data is for --compare", fix="add --compare fp16")
        told = Console(quiet=True) if as_json else out
        facts = facts_of(str(model), batches, sizes)
        findings, agrees = judge(facts, release, {} if fix else None), True
        shown: dict[str, Any] = document(facts, findings, streams, release)
        for line in lines(facts, streams, release):
            told.print(line, soft_wrap=True)
        print_findings(findings, str(model), told)
        if output is not None:
            with writing(output):
                mended = mend(facts, batches, sizes, output, skip or ())
            left = facts_of(str(output), batches, facts.by_place(sizes))
            findings = judge(left, release, not_made(mended, skip or ()))
            shown["mended"] = fixes_document(mended, output, findings)
            told.print(fixes_text(mended, output), soft_wrap=True)
            print_findings(findings, str(output), told)
        if compare_with is not None:
            compared = compare(str(output or model), compare_with, data=data)
            shown["comparison"], agrees = compared.as_dict(), compared.agrees
            for line in compared.lines():
                told.print(line, soft_wrap=True)
        if as_json:
            print_json(shown)
        if not agrees or count_as_failure(findings, strict):
            raise typer.Exit(FAILED)


def _check_fix(fix: bool, output: Path | None, skip: Sequence[str], model: str) -> None:
    if fix and output is None:
        raise WrongUse("--fix writes a file", fix="name it: --fix -o out.onnx")
    if not fix and (output is not None or skip):
        raise WrongUse(f"{'-o' if output is not None else '--skip'} is for --fix", fix="add --fix")
    for name in skip:
        if name not in NAMES:
            raise WrongUse(f"there is no fix {name!r}", fix=near(name, NAMES))
    if output is not None and model.endswith(FROZEN):
        raise WrongUse("--fix mends ONNX files", fix=f"convert it first: gepipe convert {model} -o model.onnx")
    if output is not None:
        check_place(output, model)


def _batches(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        gears = Gears.parse(text)
    except SpecError as error:
        raise WrongUse(f"--gears: {error.message}", fix='write batch sizes, as "1,2,4,8"') from error
    if gears.sizes:
        raise WrongUse(f"--gears {text!r} are sizes", fix="give batch sizes here, and other axes by --at height=640")
    return gears.batches


def _release(version: str | None) -> Release:
    try:
        return release_of(version)
    except SpecError as error:
        raise WrongUse(f"--cann: {error.message}", fix=error.fix) from error
