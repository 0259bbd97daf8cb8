from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

HOOKS = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("reason", "ci", "outcome"),
    [
        ("no mood", "", pytest.ExitCode.TESTS_FAILED),
        ("no weights: run make setup", "", pytest.ExitCode.OK),
        ("no weights: run make setup", "true", pytest.ExitCode.TESTS_FAILED),
        ("no_such_module is not here", "true", pytest.ExitCode.OK),
    ],
)
def test_a_skip_needs_an_agreed_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, reason: str, ci: str, outcome: pytest.ExitCode
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none is needed, and they take a while
    pytester.makeconftest(f"{HOOKS}\nWITHOUT['no_such_module'] = 'no_such_module'\n")
    pytester.makepyfile(f"import pytest\n\ndef test_a():\n    pytest.skip({reason!r})\n\ndef test_b():\n    pass\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == outcome
    if outcome != pytest.ExitCode.OK:
        result.stdout.fnmatch_lines([f"*test_a: Skipped: {reason}"])
