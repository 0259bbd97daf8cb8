"""Lint against real servers: what lint refuses, a server refuses, in the same words; all else loads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lint_case import Case
from lint_cases import CASES, write_cases

from ops import Finding
from ops.errors import ServerError
from pipeline.triton.lint import lint
from pipeline.triton.schema import TARGETS
from pipeline.triton.server import Server

pytestmark = pytest.mark.triton
ASKED = [case for case in CASES if case.loads is not None]
UNPARSED = "failed to read text proto from"


class Asked:
    """A server on all cases, and what lint says of them."""

    def __init__(self, server: Server, repository: Path) -> None:
        self.server = server
        self.findings = lint(repository, server.target)

    def reason(self, model: str) -> str:
        """Why the server does not load it, from its answer and, where that says nothing, its log; "" if it does."""
        before = self.server.log.stat().st_size
        try:
            self.server.load(model)
        except ServerError as error:
            return error.message + self.server.log.read_bytes()[before:].decode(errors="replace")
        return ""

    def refused(self, model: str) -> list[Finding]:
        return [found for found in self.findings if found.severity == "refused" and f"/{model}/" in f"{found.where}/"]


@pytest.fixture(scope="module", params=TARGETS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    repository = tmp_path_factory.mktemp("models")
    write_cases(repository)
    with Server(repository, target=request.param, load=()) as server:
        yield Asked(server, repository)


@pytest.mark.parametrize("case", ASKED, ids=[case.name for case in ASKED])
def test_the_verdict_of_lint_is_the_verdict_of_the_server(case: Case, asked: Asked) -> None:
    reason, refused = asked.reason(case.name), asked.refused(case.name)
    assert bool(refused) == bool(reason), reason
    if not reason:
        return
    if UNPARSED in reason:
        line = re.search(r"parsing text-format inference\.ModelConfig: (\d+):", reason)
        assert line is not None
        assert [found.where.rpartition(":")[2] for found in refused] == [line[1]]
        assert UNPARSED in refused[0].message
    else:
        assert case.words in reason
        assert any(case.words in found.message for found in refused)
