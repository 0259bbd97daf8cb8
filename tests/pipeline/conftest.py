from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import model_zoo
import pytest


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
