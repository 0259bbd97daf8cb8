from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ge_engine import lock
from ge_engine.cache.folders import IN_USE, cache_folder, hold, new_folder, remove, sweep

MAKE = """
import os, pathlib, sys
from ge_engine.cache.folders import new_folder
held = new_folder(pathlib.Path(sys.argv[1]))
(held.path / "file").touch()
print(held.path, flush=True)
sys.stdin.read()
os._exit(0)  # as a process that is killed ends: nothing is tidied up
"""

FORK = """
import os, pathlib, sys
from ge_engine.cache.folders import new_folder, remove
here = pathlib.Path(sys.argv[1])
held = new_folder(here)
closes = os.fork()
if not closes:
    held.close()
    os._exit(0)
os.waitpid(closes, 0)
assert held.path.exists()
held.moved(here / "kept")
end, tell = os.pipe()
holds = os.fork()
if not holds:
    os.read(end, 1)
    os._exit(0)
held.close()
assert not remove(here / "kept", here / "aside")
os.write(tell, b"!")
os.waitpid(holds, 0)
assert remove(here / "kept", here / "aside")
"""


def test_a_temporary_folder_is_there_until_it_is_closed(tmp_path: Path) -> None:
    held = new_folder(tmp_path)
    (held.path / "file").touch()
    assert held.path.parent == tmp_path
    assert held.path.name.startswith("gepipe-")
    held.close()
    held.close()
    assert list(tmp_path.iterdir()) == []


def test_what_a_dead_process_left_is_swept_up_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", MAKE, tmp_path], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        folder = Path(other.stdout.readline().strip())
        new_folder(tmp_path).close()
        assert (folder / "file").exists()
        other.communicate("")
    assert (folder / "file").exists()
    new_folder(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_swept_up_that_is_not_provably_ours(tmp_path: Path) -> None:
    kept = [tmp_path / "gepipe-notes", tmp_path / "gepipe-file", tmp_path / "others", tmp_path / "gepipe-link"]
    kept[0].mkdir()
    (kept[0] / "thesis.txt").touch()
    kept[1].touch()
    kept[2].mkdir()
    (kept[2] / IN_USE).touch()
    kept[3].symlink_to(kept[2], target_is_directory=True)
    sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    assert (kept[2] / IN_USE).exists()
    sweep(tmp_path / "gone")


def test_an_empty_folder_that_was_never_filled_goes_when_it_is_old(tmp_path: Path) -> None:
    for name in ("gepipe-0123abc_", "gepipe-fresh_00", "gepipe-notes", "gepipe-filled__"):
        (tmp_path / name).mkdir()
    (tmp_path / "gepipe-filled__" / "file").touch()
    for name in ("gepipe-0123abc_", "gepipe-notes", "gepipe-filled__"):
        os.utime(tmp_path / name, (1e9, 1e9))
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"gepipe-fresh_00", "gepipe-notes", "gepipe-filled__"}


def test_a_forked_child_does_not_take_the_folder_away_and_holds_it_too(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORK, tmp_path], check=True, timeout=60)


def test_a_folder_that_is_held_is_not_removed(tmp_path: Path) -> None:
    held = new_folder(tmp_path)
    held.moved(tmp_path / "entry")
    again = hold(tmp_path / "entry")
    assert again is not None
    held.close()
    assert not remove(tmp_path / "entry", tmp_path / "aside")
    again.close()
    assert remove(tmp_path / "entry", tmp_path / "aside")
    assert hold(tmp_path / "entry") is None
    assert list(tmp_path.iterdir()) == []


def test_what_is_being_removed_is_not_held(tmp_path: Path) -> None:
    new = new_folder(tmp_path)
    new.moved(tmp_path / "entry")
    new.close()
    with lock.locked(tmp_path / "entry" / IN_USE):
        assert hold(tmp_path / "entry") is None


def test_a_taken_place_leaves_the_folder_where_it_is(tmp_path: Path) -> None:
    held = new_folder(tmp_path)
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry" / "file").touch()
    with pytest.raises(OSError, match="entry"):
        held.moved(tmp_path / "entry")
    assert held.path.exists()
    held.close()
    assert not held.path.exists()


def test_folders_come_and_go_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "HAS_LOCKS", False)  # as on Windows, where open files do the same
    held = new_folder(tmp_path)
    held.moved(tmp_path / "entry")
    held.close()
    again = hold(tmp_path / "entry")
    assert again is not None
    again.close()
    assert remove(tmp_path / "entry", tmp_path / "aside")
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(OSError, match="Could not determine home directory"):
        cache_folder()


@pytest.mark.parametrize(
    ("system", "place"), [("win32", "local"), ("darwin", "home/Library/Caches"), ("linux", "home/.cache")]
)
def test_the_cache_is_where_the_system_keeps_caches(system: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", "local")
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    assert cache_folder() == Path(place, "gepipe")
