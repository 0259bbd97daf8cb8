from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from ge_engine.cache import digests
from ge_engine.cache.digests import Digests


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read whole."""
    seen: list[str] = []
    whole = digests.sha256

    def noted(path: str) -> str:
        seen.append(os.path.basename(path))
        return whole(path)

    monkeypatch.setattr(digests, "sha256", noted)
    return seen


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was written a while ago, as far as the clock is asked."""
    path = tmp_path / "model"
    path.write_bytes(b"weights")
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    return path


def digest(folder: Path, path: Path) -> str:
    return Digests(folder / "digests").of(str(path))


def test_a_file_is_read_once_as_long_as_it_is_the_same(tmp_path: Path, model: Path, reads: list[str]) -> None:
    assert [digest(tmp_path, model) for _ in range(3)] == [hashlib.sha256(b"weights").hexdigest()] * 3
    assert reads == ["model"]


def test_other_content_of_the_same_size_and_date_is_seen(tmp_path: Path, model: Path) -> None:
    before = os.stat(model)
    digest(tmp_path, model)
    model.write_bytes(b"WEIGHTS")
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest(tmp_path, model) == hashlib.sha256(b"WEIGHTS").hexdigest()


def test_another_file_in_its_place_is_seen(tmp_path: Path, model: Path) -> None:
    digest(tmp_path, model)
    other = tmp_path / "other"
    other.write_bytes(b"WEIGHTS")
    os.utime(other, ns=(os.stat(model).st_atime_ns, os.stat(model).st_mtime_ns))
    os.replace(other, model)
    assert digest(tmp_path, model) == hashlib.sha256(b"WEIGHTS").hexdigest()


def test_the_digest_of_a_file_that_changed_just_now_is_not_remembered(tmp_path: Path, reads: list[str]) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"weights")
    for _ in range(2):
        digest(tmp_path, path)
    assert reads == ["model", "model"]


@pytest.mark.parametrize("note", [b"", b"{}", b"[1]", b"[[1, 2], 5]", b"\xff"])
def test_a_damaged_note_is_no_digest(note: bytes, tmp_path: Path, model: Path) -> None:
    digest(tmp_path, model)
    (path,) = (tmp_path / "digests").iterdir()
    path.write_bytes(note)
    assert digest(tmp_path, model) == hashlib.sha256(b"weights").hexdigest()


def test_where_nothing_can_be_remembered_the_file_is_read(tmp_path: Path, model: Path) -> None:
    assert digest(model, model) == hashlib.sha256(b"weights").hexdigest()  # a file is no folder


def test_a_file_that_changes_afterwards_is_noticed(tmp_path: Path, model: Path) -> None:
    seen = Digests(tmp_path / "digests")
    seen.of(str(model))
    assert seen.hold()
    model.write_bytes(b"others")
    assert not seen.hold()
    model.unlink()
    assert not seen.hold()
