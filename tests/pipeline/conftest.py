from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import model_zoo
import pytest
import tiny
from browser import Chromium
from gates import GATES, Gate, Wait, threads
from graphs import GOOD

from pipeline import Batching, Pipeline, Plan


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small models in its `weights`. Nobody writes into it."""
    return model_zoo.write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def project(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, with `weights` in it, and current. What is imported from it is forgotten afterwards."""
    (tmp_path / "weights").symlink_to(models / "weights", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def graph(project: Path) -> Path:
    path = project / "graph.py"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Of the vector pipeline."""
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=tiny.GEARS, streams=2)


@pytest.fixture
def sized(tmp_path: Path) -> Plan:
    """Of the sized pipeline."""
    return tiny.sized_pipeline(tmp_path).compile(gears=tiny.GEARS, streams=2)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not threads()


@pytest.fixture
def gate(request: pytest.FixtureRequest) -> Iterator[Gate]:
    GATES[request.node.name] = Gate()
    yield GATES[request.node.name]
    GATES.pop(request.node.name).opened.set()


@pytest.fixture
def gated(gate: Gate, request: pytest.FixtureRequest) -> Callable[..., Plan]:
    """A host pipeline of one op, which waits at the gate."""

    def compile_(**batching: Any) -> Plan:
        pipeline = Pipeline("gated")
        pipeline.output(y=Wait(request.node.name)(pipeline.input("x", tiny.VECTOR)))
        return pipeline.compile(batching=Batching(**batching))

    return compile_
