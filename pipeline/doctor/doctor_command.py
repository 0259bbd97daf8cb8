"""The command `gepipe doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import WrongUse

from ..command import FAILED, AsJson, Debug, app, errors, out, print_json
from ..triton.log_doctor import Explained, explain_log
from . import examine


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


def _explain_log(log: Path, as_json: bool) -> None:
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            found = list(explain_log(file))
    except OSError as error:
        raise WrongUse(f"{log} cannot be read: {error.strerror}", fix="name a log file of tritonserver") from error
    if as_json:
        print_json({"lines": [line.as_dict() for line in found]})
    else:
        _print_lines(log, found)
    if found:
        raise typer.Exit(FAILED)


def _print_lines(log: Path, found: Sequence[Explained]) -> None:
    if not found:
        out.print(Text(f"{log}\nno line that is known"), soft_wrap=True)
    for line in found:
        text = Text(f"{log}:{line.line}: ").append(line.text, style="red").append(f"\n    {line.entry.meaning}")
        text.append(f"\n    fix: {line.entry.fix}", style="green")
        out.print(text.append(f" (gepipe rule {line.entry.rule})" if line.entry.rule else ""), soft_wrap=True)
