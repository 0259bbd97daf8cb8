"""Findings: how a command ends that has looked for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from ops import Finding

from .command import FAILED, out, print_json
from .trouble import print_findings

Strict = Annotated[bool, typer.Option("--strict", help="Advice counts too.")]


def end_with(findings: Sequence[Finding], subject: str, *, as_json: bool, strict: bool) -> None:
    """Print them, and exit as they say. subject: what they are about."""
    if as_json:
        print_json({"findings": [finding.as_dict() for finding in findings]})
    else:
        print_findings(findings, subject, out)
    if count_as_failure(findings, strict):
        raise typer.Exit(FAILED)


def count_as_failure(findings: Iterable[Finding], strict: bool) -> bool:
    """Whether one is more than advice; strict: whether there is one at all."""
    return any(strict or finding.severity != "advice" for finding in findings)
