"""The command `gepipe check`."""

from __future__ import annotations

from collections.abc import Sequence

from ops import Finding, ValidationError

from .command import AsJson, Debug, DeploymentFile, GearsText, Target, app, errors, settings_of
from .findings import Strict, end_with
from .load import load


@app.command()
def check(
    target: Target, gears: GearsText = None, deployment: DeploymentFile = None, as_json: AsJson = False,
    strict: Strict = False, debug: Debug = False,
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
        end_with(findings, subject, as_json=as_json, strict=strict)
