from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ge_engine import lock
from ge_engine.lock import locked

HOLD = "import sys; from pathlib import Path; from ge_engine.lock import locked\n"
HOLD += "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


@pytest.mark.parametrize("name", ["a file", "."])
def test_a_second_process_waits_until_the_first_lets_go(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    got = threading.Event()

    def take() -> None:
        with locked(path, lambda: other.stdin.close() if other.stdin else None):
            got.set()

    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        thread = threading.Thread(target=take)
        thread.start()
        assert got.wait(30)
        thread.join()


def test_a_lock_ends_with_its_block(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "a", lambda: pytest.fail("nobody else has it")) as held:
            assert held


def test_who_waits_too_long_goes_on_without(tmp_path: Path) -> None:
    said = []
    with locked(tmp_path), locked(tmp_path, lambda: said.append("waiting"), at_most_s=0) as held:
        assert not held
        said.append("on")
    assert said == ["waiting", "on"]


def test_where_there_are_no_locks_it_goes_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(handle: int, **how: bool) -> bool:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock, "try_lock", no_locks)
    with locked(tmp_path) as held:
        assert not held
    monkeypatch.setattr(lock, "HAS_LOCKS", False)
    with locked(tmp_path) as held:
        assert not held
