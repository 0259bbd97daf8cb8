from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.triton.workshop import move_in, workshop


def test_what_is_written_lies_beside_the_repository_and_is_gone_afterwards(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    with workshop(root) as here:
        assert here.parent == tmp_path
        (here / "a").mkdir()
        move_in(here, root, ["a"])
    assert [path.name for path in tmp_path.iterdir()] == ["models"]
    assert [path.name for path in root.iterdir()] == ["a"]


def test_a_repository_that_alone_can_be_written_holds_its_own_workshop(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    mkdir = os.mkdir

    def only_inside(path: str, mode: int = 0o777, **more: int) -> None:
        if Path(path).parent == tmp_path:
            raise PermissionError(13, "Permission denied", path)
        mkdir(path, mode, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "mkdir", only_inside)
        with workshop(root) as here:
            assert here.parent == root
    assert not list(root.iterdir())


def test_a_repository_that_is_a_disk_of_its_own_holds_its_own_workshop(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    rename = os.rename

    def not_across(source: Path, target: Path) -> None:
        if Path(source).parent.parent == tmp_path and Path(target).parent == root:
            raise OSError(18, "Invalid cross-device link", str(source))
        rename(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", not_across)
        with workshop(root) as here:
            assert here.parent == root
            (here / "a").mkdir()
            move_in(here, root, ["a"])
    assert [path.name for path in root.iterdir()] == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


def test_all_of_it_is_moved_in_or_nothing(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "b" / "theirs").mkdir(parents=True)
    with workshop(root) as here:
        for name in "ab":
            (here / name).mkdir()
        with pytest.raises(OSError, match="not empty"):
            move_in(here, root, ["a", "b"])
        assert [path.name for path in root.iterdir()] == ["b"]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    order = []

    def second() -> None:
        with workshop(root):
            order.append("second")

    other = threading.Thread(target=second)
    with workshop(root):
        other.start()
        other.join(0.1)
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def test_what_a_killed_export_has_left_is_removed_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    (tmp_path / ".gepipe-models-2-abcdefgh").mkdir()  # of a repository called models-2
    code = (
        "import sys, os, signal\nfrom pathlib import Path\nfrom pipeline.triton.workshop import workshop\n"
        "with workshop(Path(sys.argv[1])) as here:\n"
        "    (here / 'model.onnx').write_bytes(bytes(9))\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".gepipe-models-*/model.onnx"))) == 1
    with workshop(root):
        assert not list(tmp_path.glob(".gepipe-models-*/model.onnx"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gepipe-models-2-abcdefgh", "models"]
