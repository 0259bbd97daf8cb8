from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import ge_engine
import ops
import pipeline


def modules() -> Iterator[str]:
    for package in (ops, ge_engine, pipeline):
        yield package.__name__
        yield from (found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_in_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_docstrings_of_ops_hold_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = {
        found.name
        for name in modules()
        if name.startswith("ops.")
        for found in finder.find(importlib.import_module(name))
        if found.examples
    }
    missing = {cls.__name__ for cls in ops.op.REGISTRY.values() if cls.__module__.startswith("ops.")} - {
        name.rpartition(".")[2] for name in examples
    }
    assert not missing
