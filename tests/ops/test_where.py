from __future__ import annotations

import os
from pathlib import Path

import pytest

from ops.where import Where, absolute, caller


def test_a_place_below_the_current_folder_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Where(str(tmp_path / "a" / "graph.py"), 3)) == os.path.join("a", "graph.py:3")
    assert str(Where("/elsewhere/graph.py", 0)) == "/elsewhere/graph.py"


def test_a_deleted_current_folder_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert str(Where("/srv/graph.py", 3)) == "/srv/graph.py:3"
    assert Where("<string>", 1).folder == "/"
    assert absolute("graph.py") == "/graph.py"
    assert caller().file == __file__
