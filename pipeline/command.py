"""Command: what all commands of the command line share: the app, its options, how they print, and how they fail."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ge_engine.whole_file import replaceable
from ops import DeviceError, SpecError, ValidationError, WrongUse

from .trouble import print_findings, say

if TYPE_CHECKING:
    from .deployment import Deployment
    from .graph import Graph
    from .plan import Plan
    from .session import Session

app = typer.Typer()  # to it, each command's module adds what it has; cli.py loads it


# Control characters but tabs and ends of lines, and what turns the direction of writing.
_STEERING = dict.fromkeys(
    (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
)


class _Terminal(Console):
    """Prints what a file says (names, paths, messages) without what would steer the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(segment.text.translate(_STEERING), segment.style)


out = _Terminal(highlight=False)
err = _Terminal(stderr=True, highlight=False)


def named(option: typer.CallbackParam, value: Path | None) -> Path | None:
    """For an option that says where to write: "-" would be a file of that name. Errors: WrongUse."""
    if str(value) == "-":
        with errors(False):
            word = option.opts[0]
            fix = f"name a place: {word} {option.metavar}; if it has to be called so, {word} ./-"
            raise WrongUse(f"{word} is -, but this is not written to the standard output", fix=fix)
    return value


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
Exact = Annotated[bool, typer.Option("--exact", help="Only passes that keep every byte.")]
DeviceName = Annotated[str, typer.Option("--device", help="cpu; npu:0, npu:0,1; null: answers zeros.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]

FAILED = 1
WRONG_USE = 2


def settings_of(
    file: Path | None, gears: str | None = None, streams: int | None = None, exact: bool = False
) -> Deployment:
    """The file's settings, with those of the options instead of its own. Errors: WrongUse."""
    from .deployment import Deployment  # here and below: not every command needs them

    fields: dict[str, Any] = {"gears": gears, "streams": streams, "exact": exact or None}
    try:
        base = Deployment.from_json(file.read_text(encoding="utf-8")) if file else None
        return Deployment.of(base, **{name: value for name, value in fields.items() if value is not None})
    except SpecError as error:
        raise WrongUse(error.message, fix=error.fix, where=str(file or "")) from error
    except (OSError, ValueError) as error:
        raise WrongUse(f"{file} cannot be read: {error}", fix="name a JSON file of settings") from error


def check_device(name: str) -> None:
    """Before anything is compiled for it. Errors: WrongUse."""
    from ge_engine.devices import open_device

    try:
        open_device(name).close()
    except DeviceError as error:
        raise WrongUse(error.message, fix=error.fix) from error


def make_plan(graph: Graph, settings: Deployment, *, prints: bool = False) -> Plan:
    """Compile, with a progress bar. prints: the findings are printed, and need no note."""
    from .bars import compiling
    from .plan import Plan

    with compiling(err) as show:
        plan = Plan.of(graph, settings, show)
    if plan.uncached and not prints:
        note(plan.uncached)
    return plan


def open_session(plan: Plan, device: str) -> Session:
    """With a progress bar: for an NPU it compiles, too."""
    from .bars import compiling

    with compiling(err) as show:
        return plan.session(device, show)


@contextmanager
def errors(debug: bool) -> Iterator[None]:
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


_PLACE = "name a file in a folder that is there, and that you may write to"
_ROOM = "make room there, or name a place on another disk"
_TAKEN = "something came to stand there meanwhile: remove it, or name another place"
_FIXES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _ROOM),
    **dict.fromkeys((errno.ENOTEMPTY, errno.EEXIST), _TAKEN),
}


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Say of an OSError which place could not be written. Errors: WrongUse."""
    try:
        yield
    except OSError as error:
        fix = _FIXES.get(error.errno or 0, _PLACE)
        raise WrongUse(f"{place} cannot be written: {error.strerror or error}", fix=fix) from error


def check_place(place: Path, *sources: str | Path | None) -> None:
    """Before anything takes long: a file that can be written, and none of the sources, which would be lost.

    Errors: WrongUse.
    """
    for source in sources:
        file = str(source).partition(":")[0]  # a pipeline may be graph.py:name
        if place.is_file() and os.path.isfile(file) and os.path.samefile(place, file):
            raise WrongUse(f"{place} is what is read: it would be lost", fix="name another file")
    with writing(place), tempfile.TemporaryFile(dir=replaceable(place).parent):
        pass


def note(text: str) -> None:
    """Something to know beside the answer: on the error output."""
    err.print(Text(text), soft_wrap=True)


def new_table(*headings: str) -> Table:
    """Columns that lose nothing on a narrow terminal."""
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_json(document: Any) -> None:
    """UTF-8 as it is; other encodings get escapes, which every JSON reader understands. What is no number is null."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(_without_infinity(document), ensure_ascii=not utf8, indent=1) + "\n")


def _without_infinity(value: Any) -> Any:
    """As JSON has it, which knows no infinity."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    return [_without_infinity(item) for item in value] if isinstance(value, (list, tuple)) else value
