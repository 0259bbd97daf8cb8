from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
import typer

from ops import Finding
from pipeline.command import FAILED
from pipeline.findings import end_with

ADVICE, FAILS, REFUSED = (Finding("G20", kind, "graph.py:1", "what", "how") for kind in ("advice", "fails", "refused"))


@pytest.mark.parametrize(
    ("findings", "strict", "fails"),
    [
        ((), True, False),
        ((ADVICE,), False, False),
        ((ADVICE,), True, True),
        ((ADVICE, FAILS), False, True),
        ((REFUSED,), False, True),
    ],
)
def test_a_command_fails_for_more_than_advice_and_if_strict_for_advice_too(
    findings: Sequence[Finding], strict: bool, fails: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if fails:
        with pytest.raises(typer.Exit) as ended:
            end_with(findings, "graph.py", as_json=True, strict=strict)
        assert ended.value.exit_code == FAILED
    else:
        end_with(findings, "graph.py", as_json=True, strict=strict)
    shown = json.loads(capsys.readouterr().out)["findings"]
    assert [one["severity"] for one in shown] == [finding.severity for finding in findings]


def test_for_people_what_they_are_about_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    end_with([ADVICE], "models", as_json=False, strict=False)
    assert capsys.readouterr().out == "models: 1 finding\ngraph.py:1: G20 advice\n    what\n    fix: how\n"
