"""verify: lint a repository, serve it, and hold its answers against the golden requests that it carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops import Finding, ServerError

from .golden import golden_files, machine, read_golden
from .lint import lint
from .releases import DEFAULT_TARGET
from .rest import Rest
from .verify_client import INSTALL, Row, check


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
    from .server import Server  # needs Linux at import

    golden = _golden_requests(directory)  # first what is known without a server
    findings = lint(directory, target)
    if any(finding.severity == "refused" for finding in findings):
        return Verdict(findings, {}, {})
    with Server(directory, target=target, say=say) as server:
        models = {model.name: model.state or model.reason for model in server.rest.index()}
        verdict = Verdict(findings, models, _answers(server.url, golden, exact_on=machine()))
        server.keep_log = not verdict.ok
        return verdict


def verify_url(directory: Path, url: str) -> Verdict:
    """Send the golden requests of a repository to any running server, within the recorded tolerance.

    url: HOST:PORT of its HTTP interface.
    Errors: ServerError when no Triton server answers HTTP there.
    """
    golden = _golden_requests(directory)
    Rest(url).version()  # it asks for a moment only; the client waits a minute for each answer
    return Verdict((), {}, _answers(url, golden, exact_on=""))


def _golden_requests(directory: Path) -> list[dict[str, Any]]:
    files = golden_files(directory)
    if not files:
        fix = "write it with `gepipe export`, or `gepipe convert`"
        raise ServerError(f"{directory} carries no golden requests", fix=fix)
    try:
        import tritonclient.http  # noqa: F401 - the question is whether it can be
    except (ImportError, RuntimeError) as error:  # the latter where it was installed without that half
        raise ServerError("verify asks the server with tritonclient, which is not here", fix=INSTALL) from error
    return [read_golden(file) for file in files]


def _answers(url: str, requests: list[dict[str, Any]], exact_on: str) -> dict[str, list[Row]]:
    try:
        return {golden["model"]: check(url, golden, golden["machine"] == exact_on) for golden in requests}
    except ConnectionError as error:
        raise ServerError(str(error), fix="give the server's HTTP port; 8000 is the usual one") from error
