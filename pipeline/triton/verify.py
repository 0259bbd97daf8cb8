"""verify: lint a repository, serve it, and hold its answers against the golden requests that it carries."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops import Finding, ServerError

from .golden import machine
from .schema import DEFAULT_TARGET
from .verify_client import Row, check

GOLDEN = "golden.json"


@dataclass(frozen=True)
class Verdict:
    """What verify found: of the files, of loading, and of each answer.

    models: for each model, READY or why it is not. rows: for each ensemble with golden requests, its answers.
    """

    findings: tuple[Finding, ...]
    models: dict[str, str]
    rows: dict[str, list[Row]]

    @property
    def ok(self) -> bool:
        return (
            all(finding.severity == "advice" for finding in self.findings)
            and all(state == "READY" for state in self.models.values())
            and all(row.ok for rows in self.rows.values() for row in rows)
        )


def verify(directory: Path, target: str = DEFAULT_TARGET, say: Callable[[str], None] = lambda text: None) -> Verdict:
    """Lint, start a server here, load everything, and send the golden requests. It runs the repository's code.

    Errors: ServerError when there is no server or it does not start.
    """
    from .lint import lint
    from .server import Server  # needs Linux at import

    findings = lint(directory, target)
    if any(finding.severity == "refused" for finding in findings):
        return Verdict(findings, {}, {})
    with Server(directory, target=target, say=say) as server:
        models = {model.name: model.state or model.reason for model in server.rest.index()}
        return Verdict(findings, models, _answers(server.url, directory, exact_on=machine()))


def verify_url(directory: Path, url: str) -> Verdict:
    """Send the golden requests of a repository to any running server, within the recorded tolerance."""
    return Verdict((), {}, _answers(url, directory, exact_on=""))


def golden_files(directory: Path) -> list[Path]:
    """The golden requests of the ensembles in a repository."""
    return sorted(directory.glob(f"*/*/{GOLDEN}"))


def _answers(url: str, directory: Path, exact_on: str) -> dict[str, list[Row]]:
    files = golden_files(directory)
    if not files:
        raise ServerError(f"{directory} carries no golden requests", fix="export it with `gepipe export`")
    if importlib.util.find_spec("tritonclient") is None:
        raise ServerError("verify asks the server with tritonclient, which is not here", fix="install gepipe[triton]")
    answers = {}
    for file in files:
        golden: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        answers[golden["model"]] = check(url, golden, exact=golden["machine"] == exact_on)
    return answers
