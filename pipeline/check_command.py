"""The command `gepipe check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ops import Finding, ValidationError

from .command import (
    FAILED,
    AsJson,
    Debug,
    DeploymentFile,
    GearsText,
    Target,
    app,
    errors,
    out,
    print_json,
    settings_of,
)
from .load import load
from .trouble import print_findings


@app.command()
def check(
    target: Target, gears: GearsText = None, deployment: DeploymentFile = None, as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Advice counts too.")] = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Validate a pipeline: every problem in one report."""
    with errors(debug):
        settings = settings_of(deployment, gears)
        findings: Sequence[Finding]
        try:
            graph = load(target).validate(settings)
            subject, findings = str(graph), graph.advice
        except ValidationError as error:
            if debug and error.__cause__:
                raise
            subject, findings = error.message.partition(":")[0], error.findings
        if as_json:
            print_json({"findings": [finding.as_dict() for finding in findings]})
        else:
            print_findings(findings, subject, out)
        if any(strict or finding.severity != "advice" for finding in findings):
            raise typer.Exit(FAILED)
