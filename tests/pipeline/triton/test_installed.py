from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ge_engine.cache import cache_folder
from ops.errors import ServerError
from pipeline.triton.installed import made_once, pip_install


def test_the_cache_is_where_the_desktop_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "gepipe"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "gepipe"


def test_a_folder_is_made_once_however_many_want_it(tmp_path: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "file").touch()
        made.append(folder)

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: made_once(tmp_path / "deep" / "folder", make), range(8)))
    assert got == [tmp_path / "deep" / "folder"] * 8
    assert len(made) == 1


def test_half_a_folder_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        folder.mkdir()
        raise ServerError("no network")

    with pytest.raises(ServerError, match="no network"):
        made_once(tmp_path / "folder", fails)
    assert not (tmp_path / "folder").exists()
    (tmp_path / "folder").mkdir()  # as somebody who was killed leaves it
    made_once(tmp_path / "folder", lambda folder: folder.mkdir())
    assert [path.name for path in (tmp_path / "folder").iterdir()] == [".made"]


def test_what_pip_says_is_told(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"pip cannot install gepipe-absent==1:\n  .*gepipe-absent==1") as caught:
        pip_install(["gepipe-absent==1"], ["--no-index", "--target", str(tmp_path)])
    assert "--environment" in caught.value.fix
