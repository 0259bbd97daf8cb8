"""The command `gepipe check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ops import Finding, ValidationError

from .command import FAILED, AsJson, Debug, DeploymentFile, GearsText, Target, app, errors, out, settings_of
from .findings import Strict, count_as_failure, end_with
from .load import load_all
from .trouble import print_findings

if TYPE_CHECKING:
    from .deployment import Deployment
    from .pipeline import Pipeline

Checked = tuple[str, Sequence[Finding]]  # what was checked, and what was found


@app.command()
def check(
    target: Target, gears: GearsText = None, deployment: DeploymentFile = None, as_json: AsJson = False,
    strict: Strict = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Validate a pipeline: every problem in one report."""
    with errors(debug):
        settings = settings_of(deployment, gears)
        try:
            found = [_checked(pipeline, settings, debug) for pipeline in load_all(target)]
        except ValidationError as error:
            if debug and error.__cause__:
                raise
            found = [_told(error)]
        if as_json or len(found) == 1:
            end_with([one for _, findings in found for one in findings], found[0][0], as_json=as_json, strict=strict)
            return
        for subject, findings in found:
            print_findings(findings, subject, out)
        if any(count_as_failure(findings, strict) for _, findings in found):
            raise typer.Exit(FAILED)


def _checked(pipeline: Pipeline, settings: Deployment, debug: bool) -> Checked:
    try:
        graph = pipeline.validate(settings)
    except ValidationError as error:
        if debug and error.__cause__:
            raise
        return _told(error)
    return str(graph), graph.advice


def _told(error: ValidationError) -> Checked:
    return error.message.partition(":")[0], error.findings
