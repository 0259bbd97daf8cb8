"""A test is skipped for an agreed reason only, and where CI is true only for what cannot be had there."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

ALWAYS = (  # reasons that hold in CI too
    r"this OpenCV \(\d\S*\) (reads|writes) no ",  # formats differ between OpenCV releases
)
OPS_ALONE = (  # reasons that hold where `ops` is tested without what stands above it
    r"needs onnxruntime",
    r"could not import 'onnx",
)
BY_HAND = (  # reasons that a developer may have
    r"run `?make setup`?",
    r"is not installed",
)

_unexpected: list[str] = []


def _allowed() -> Iterator[str]:
    yield from ALWAYS
    if importlib.util.find_spec("onnxruntime") is None:
        yield from OPS_ALONE
    if os.environ.get("CI") != "true":
        yield from BY_HAND


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(re.search(pattern, reason) for pattern in _allowed()):
        _unexpected.append(f"{report.nodeid}: {reason}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unexpected and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _unexpected:
        terminalreporter.section("skipped without an agreed reason (see tests/conftest.py)")
        for line in _unexpected:
            terminalreporter.line(line)
