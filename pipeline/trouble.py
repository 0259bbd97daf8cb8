"""Trouble: findings and errors, for people to read."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ops import Finding, GepipeError


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
    """An error of ours says it all, and so does the machine's; any other is a fault in the library."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, GepipeError):
        return text
    if isinstance(error, (OSError, MemoryError)):
        return f"{text}\nfix: the machine lacks what it says; --debug shows where it was needed"
    return f"{text}\nfix: --debug shows the traceback; please report it"


def _indent(text: str) -> str:
    return text.replace("\n", "\n    ")
