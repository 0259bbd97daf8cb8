from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.triton.lock import SHARED_MEMORY
from pipeline.triton.processes import Process, Region, end_session, regions, remove, session, stub

PARENT = """
import signal, subprocess, sys
code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
subprocess.Popen([sys.executable, "-c", code])
signal.pause()
"""


def until(true: Callable[[], bool]) -> bool:
    """Whether it becomes true: the kernel tells nobody."""
    deadline = time.monotonic() + 20
    while not true() and time.monotonic() < deadline:
        os.sched_yield()
    return true()


@contextmanager
def family() -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own, with a child that ignores SIGTERM."""
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "up\n"
        try:
            yield parent
        finally:
            parent.kill()
            end_session(parent.pid)


def test_a_session_is_found_and_ended_though_its_leader_is_gone() -> None:
    with family() as parent:
        (child,) = session(parent.pid)
        assert child.alive
        parent.kill()
        parent.wait()
        assert [process.pid for process in session(parent.pid)] == [child.pid]
        end_session(parent.pid)
        assert until(lambda: not any(process.alive for process in session(parent.pid)))


def test_a_process_that_nobody_has_asked_tells_how_it_ended() -> None:
    with family() as parent:
        (child,) = session(parent.pid)
        os.kill(child.pid, 9)
        assert until(lambda: session(parent.pid) == [Process(child.pid, alive=False, exit_code=9)])


def test_a_process_that_is_no_stub_is_none() -> None:
    assert stub(os.getpid()) is None
    assert stub(2**22 + 1) is None


@pytest.fixture
def region() -> Iterator[Path]:
    path = SHARED_MEMORY / f"triton_test_{os.getpid()}"
    path.write_bytes(bytes(4096))
    yield path
    path.unlink(missing_ok=True)


def test_a_region_is_told_by_its_name_and_inode(region: Path) -> None:
    with region.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        assert regions(os.getpid()) == {Region(region.name, region.stat().st_ino)}
        region.unlink()
        assert regions(os.getpid()) == set()
    assert regions(2**22 + 1) == set()


def test_a_region_whose_name_is_another_servers_by_now_is_left(region: Path) -> None:
    remove([Region(region.name, region.stat().st_ino + 1), Region("triton_absent", 1)])
    assert region.exists()
    remove([Region(region.name, region.stat().st_ino)])
    assert not region.exists()
