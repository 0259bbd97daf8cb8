"""A test is skipped for an agreed reason only, and where CI is true only for what cannot be had there."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

WITHOUT = {  # a module: the reasons that hold where it is not installed
    "onnxruntime": r"needs onnxruntime|could not import 'onnx",  # `ops` tested alone
    "matplotlib": r"matplotlib",  # pictures are checked once
    "tritonclient": r"tritonclient",  # servers are asked once, with the newest numpy
    "prometheus_client": r"prometheus_client",  # metrics are read once, with the newest numpy
    "openvino": r"could not import 'openvino'",  # TensorFlow graphs are run once, with the newest numpy
    "mypy": r"mypy",  # types are checked once, with the newest numpy
    "torch": r"torch",  # 200 MB, for what it converts; GEPIPE_TORCH names a Python that has it
}
BY_CHOICE = r"set GEPIPE_HEAVY"  # more than two minutes: run before a release
BY_HAND = r"run make setup|is not installed"  # reasons that a developer may have

CACHE = pytest.StashKey[str]()
SHARED = "GEPIPE_TEST_CACHE"  # set by the run that this one is part of: xdist's workers, and what a page tells to test

_unexpected: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    # A shell lets what it starts in the background ignore Ctrl-C; tests that send it, and their children, must not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The user's own compile cache is left alone: a run has one, which its tests and what they start share.
    if SHARED not in os.environ:
        os.environ[SHARED] = config.stash[CACHE] = tempfile.mkdtemp(prefix="gepipe-test-cache")
    os.environ["GEPIPE_CACHE"] = os.environ[SHARED]


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE in config.stash:
        del os.environ[SHARED]
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)


def _allowed() -> Iterator[str]:
    yield from (reasons for module, reasons in WITHOUT.items() if importlib.util.find_spec(module) is None)
    yield BY_CHOICE
    if os.environ.get("CI") != "true":
        yield BY_HAND


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
