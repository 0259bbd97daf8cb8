"""The command `gepipe convert`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import WrongUse
from ops.near import near

from ..axis_sizes import At, axis_sizes
from ..command import FAILED, AsJson, Debug, app, errors, named, new_table, note, out, print_json, settings_of, writing
from ..triton.releases import DEFAULT_TARGET, TARGETS
from .conversion import Converted
from .conversion import convert as convert_model
from .options import TOLERANCE, Options

_SOURCE = (
    "A SavedModel's folder, a .pb, .tflite or .onnx file; for PyTorch module:function, or a JSON file: "
    '{"model": "net.py:make", "inputs": {"x": ["batch", 3, 224, 224]}}'
)


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=_SOURCE)],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="OUT", callback=named, help="An .onnx or .pb file, or a folder: models/NAME."
        ),
    ],
    opset: Annotated[int, typer.Option("--opset", help="Of an ONNX file; 17 by default.")] = 0,
    outputs: Annotated[
        Optional[str], typer.Option("--outputs", metavar="NAMES", help="Those to keep: a,b. For PyTorch, their names.")
    ] = None,
    signature: Annotated[
        str, typer.Option("--signature", help="Of a SavedModel; serving_default, or its only one.")
    ] = "",
    at: At = None,
    data: Annotated[
        Optional[Path], typer.Option("--data", metavar="FILE", help="Compare on these too: an .npz of whole inputs.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="The largest difference, relative to the largest value of an output.")
    ] = TOLERANCE,
    gears: Annotated[
        Optional[str], typer.Option("--gears", metavar="SIZES", help='Of models/NAME: batch sizes, as "1,2,4,8".')
    ] = None,
    target: Annotated[str, typer.Option("--target", help=f"Of models/NAME: {', '.join(TARGETS)}.")] = DEFAULT_TARGET,
    python: Annotated[
        Optional[str], typer.Option("--python", metavar="PATH", help="The interpreter that has TensorFlow or PyTorch.")
    ] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Make a model of another kind, or an entry of a model repository, and hold it against its source."""
    with errors(debug):
        if target not in TARGETS:
            raise WrongUse(f"there is no target {target}", fix=near(target, TARGETS))
        batches = settings_of(None, gears).gears_of(output.name) if gears else None
        options = Options(
            opset, _names(outputs), signature, axis_sizes(at or ()), data, tolerance, batches, target,
            python or sys.executable,
        )  # fmt: skip
        with writing(output):
            done = convert_model(source, output, options, note)
        if as_json:
            rows, why = [vars(row) for row in done.rows], done.why_not and done.why_not._asdict()
            print_json({"kind": done.kind, "files": list(map(str, done.files)), "rows": rows, "why_not": why})
        else:
            _show(done)
        if not done.ok:
            raise typer.Exit(FAILED)


def _show(done: Converted) -> None:
    if done.rows:
        table = new_table("", "inputs", "output", "shape", "max abs", "relative")
        for row in done.rows:
            if row.shape is None:
                told = "no answer", "", ""
            else:
                told = f"[{','.join(map(str, row.shape))}]", f"{row.absolute:.1e}", f"{row.relative:.1e}"
            table.add_row("ok" if row.ok else "NO", *map(Text, (row.sample, row.output, *told)))
        out.print(table)
    else:
        out.print("nothing to compare: it is the same graph")
    for file in done.files:
        out.print(Text(str(file)), soft_wrap=True)
    if done.why_not is not None:
        reason, fix = done.why_not
        out.print(Text(f"NOT converted, nothing was written: {reason}\nfix: {fix}", style="red"), soft_wrap=True)


def _names(text: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if not all(names):
        raise WrongUse(f"--outputs {text!r} has an empty name", fix="write a,b")
    return names
