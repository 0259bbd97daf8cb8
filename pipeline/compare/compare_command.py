"""The command `gepipe compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ge_engine.whole_file import write_whole

from ..command import (
    FAILED,
    AsJson,
    Debug,
    DeploymentFile,
    GearsText,
    app,
    check_place,
    errors,
    named,
    note,
    out,
    print_json,
    settings_of,
    writing,
)
from .compare import MOST_SAMPLES, compare
from .limits import Limits
from .lists import read_list
from .result import Comparison

Data = Annotated[
    Optional[Path],
    typer.Option("--data", metavar="DIR", help="Samples: pictures, or .npz with inputs by name. By default random."),
]
CosineLimit = Annotated[float, typer.Option("--cosine", help="The least cosine similarity that counts as alike.")]
DistanceLimit = Annotated[float, typer.Option("--distance", help="The largest relative Euclidean distance.")]
CsvFile = Annotated[
    Optional[Path], typer.Option("--csv", metavar="FILE", callback=named, help="Write a line for each tensor.")
]
KeepFolder = Annotated[
    Optional[Path],
    typer.Option("--keep", metavar="DIR", callback=named, help="Write the nodes to keep in fp32, as CANN reads them."),
]


@app.command("compare")
def compare_command(
    target: Annotated[str, typer.Argument(metavar="PIPELINE|MODEL", help="graph.py, or an .onnx.")],
    other: Annotated[
        str, typer.Option("--with", metavar="WHAT", help="A precision, another .onnx, or a folder of dumped tensors.")
    ] = "fp16",
    data: Data = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="The most that are taken.")] = MOST_SAMPLES,
    cosine: CosineLimit = Limits.cosine, distance: DistanceLimit = Limits.distance,
    csv_file: CsvFile = None, keep: KeepFolder = None,
    kept: Annotated[
        Optional[Path], typer.Option("--kept", metavar="FILE", help="Try such a list: its nodes stay in fp32.")
    ] = None,
    gears: GearsText = None, deployment: DeploymentFile = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Compare layer by layer: with another precision, another model, or the tensors that an NPU dumped."""
    with errors(debug):
        limits = Limits(cosine, distance)
        settings = settings_of(deployment, gears)
        listed = read_list(kept) if kept is not None else None
        if csv_file is not None:
            check_place(csv_file, target, other, data, kept, deployment)
        found = compare(target, other, data=data, limits=limits, settings=settings, most=samples, keep=listed, say=note)
        show(found, csv_file, keep, as_json)


def show(found: Comparison, csv_file: Path | None, keep: Path | None, as_json: bool) -> None:
    """Print a comparison, then write what was asked for: a full disk takes no result.

    Exits with FAILED where an output departs.
    """
    if as_json:
        print_json(found.as_dict())
    else:
        for line in found.lines():
            out.print(line, soft_wrap=True)
    if csv_file is not None:
        with writing(csv_file):
            write_whole(csv_file, found.csv())
    if keep is not None and found.kept:
        with writing(keep):
            found.write_lists(keep)
    elif keep is not None:
        note(f"no node has to stay in fp32: nothing is written into {keep}")
    if not found.agrees:
        raise typer.Exit(FAILED)
