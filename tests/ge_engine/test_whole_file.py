from __future__ import annotations

import os
from pathlib import Path

import pytest

from ge_engine.whole_file import write_whole


def test_what_was_there_is_replaced(tmp_path: Path) -> None:
    for content, stored in (("one", b"one"), ("二", b"\xe4\xba\x8c"), (b"\xff\n", b"\xff\n")):
        write_whole(tmp_path / "a.json", content)
        assert (tmp_path / "a.json").read_bytes() == stored
    assert os.listdir(tmp_path) == ["a.json"]


def test_what_cannot_be_written_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "a.json", "one")

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "a.json", "two")
    assert (tmp_path / "a.json").read_text() == "one"
    assert os.listdir(tmp_path) == ["a.json"]


def test_of_a_link_the_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="could not import 'onnx: no pipes here")
def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a file"):
        write_whole(tmp_path / "pipe", "text")
    assert (tmp_path / "pipe").is_fifo()
