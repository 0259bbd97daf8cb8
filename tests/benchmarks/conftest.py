"""The suites run by `make bench`; with --benchmark-disable each only proves that it runs and answers rightly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import pytest
from bench import Bench
from machine import Load, machine


@pytest.fixture
def bench(benchmark: Any) -> Bench:
    return Bench(benchmark)


@pytest.fixture(autouse=True)
def _threads_of_opencv() -> Iterator[None]:
    """Some baselines switch OpenCV's own threads off, for the whole process."""
    before = cv2.getNumThreads()
    yield
    cv2.setNumThreads(before)


_load = pytest.StashKey[Load]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_load] = Load()


@pytest.hookimpl(optionalhook=True)  # where all tests are collected, pytest-benchmark may be missing
def pytest_benchmark_update_json(config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]) -> None:
    """Keep what the page is made of, and what says where and when; nothing of the machine's owner."""
    tests = [{"test": row["name"], **row["extra_info"]} for row in output_json["benchmarks"]]
    when = output_json["datetime"]
    output_json.clear()
    output_json.update({"machine": machine(), "when": str(when)[:10], "load": str(config.stash[_load]), "tests": tests})
