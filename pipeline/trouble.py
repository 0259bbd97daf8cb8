"""Trouble: findings and errors, for people to read."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ops import DeclarationError, Finding, GepipeError, Where

OURS = tuple(str(Path(__file__).resolve().parents[1] / name) + os.sep for name in ("ops", "ge_engine", "pipeline"))
NOT_THE_USERS = (*OURS, *(os.path.abspath(path) + os.sep for path in sysconfig.get_paths().values()))


def print_findings(findings: Sequence[Finding], subject: str, console: Console) -> None:
    """The place first, so that a terminal or an editor can follow it; lines are left whole for the terminal to wrap."""
    if not findings:
        console.print(Text(f"{subject}\nno problem found"), soft_wrap=True)
        return
    console.print(Text(f"{subject}: {len(findings)} finding{'s' if len(findings) > 1 else ''}"), soft_wrap=True)
    for finding in findings:
        style = "yellow" if finding.severity == "advice" else "red"
        text = Text(f"{finding.where}: ").append(f"{finding.rule} {finding.severity}", style=style)
        text.append(f"\n    {_indent(finding.message)}").append(f"\n    fix: {_indent(finding.fix)}", style="green")
        console.print(text, soft_wrap=True)


def say(error: BaseException) -> str:
    """One of ours as it is; anything else came out of the user's code, so say where."""
    if isinstance(error, GepipeError):
        return f"{type(error).__name__}: {error}"
    where = where_of(error)
    text = f"{type(error).__name__}: {_reason(error)}".rstrip(": ")
    return f"{where}: {text}" if where else f"{text}\nfix: --debug shows where it happened"


def as_finding(error: BaseException, target: str) -> Finding:
    """Why a file that declares a pipeline did not run to its end."""
    if isinstance(error, DeclarationError):
        return Finding("G24", "refused", error.where or target, error.message, error.fix)
    message = f"{type(error).__name__}: {_reason(error)}"
    if isinstance(error, SystemExit):
        fix = "put what exits behind: if __name__ == '__main__'"
    elif isinstance(error, ModuleNotFoundError):
        fix = f"install {error.name}, or mend its name"
    else:
        fix = "mend the file until `python` runs it; --debug shows the traceback"
    return Finding("G24", "refused", where_of(error) or target, message, fix)


def where_of(error: BaseException) -> str:
    """The innermost line of the user's own code; "" if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return str(Where(os.path.abspath(error.filename), error.lineno or 0))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.exists(frame.filename)]
    for hidden in (NOT_THE_USERS, OURS):  # the user's own module may be an installed one
        mine = [frame for frame in frames if not os.path.abspath(frame.filename).startswith(hidden)]
        if mine:
            return str(Where(os.path.abspath(mine[-1].filename), mine[-1].lineno or 0))
    return ""


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    if isinstance(error, SystemExit):
        return f"the file exits ({error.code})"
    return str(error)


def _indent(text: str) -> str:
    return text.replace("\n", "\n    ")
