"""Locks between the processes of one machine. They end with the process that holds them."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
_PACE_S = 0.05
_MOST_S = 120  # for another server's models: one that hangs must not keep all others from starting


@contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None, at_most_s: float = float("inf")) -> Iterator[None]:
    """Hold a file or a folder for oneself; `waiting` is called once if somebody else has it.

    After at_most_s of waiting it goes on without.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    handle = os.open(path, flags, 0o666)
    try:
        if not _lock(handle):
            waiting()
            deadline = time.monotonic() + at_most_s
            while not _lock(handle) and time.monotonic() < deadline:
                time.sleep(_PACE_S)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def loading(say: Callable[[str], None]) -> Iterator[None]:
    """Held while a server starts or loads models.

    Triton 24.02 counts its regions of shared memory from 1 in each server: two that load at the same moment take each
    other's. The lock is on the folder where the regions are, so it reaches exactly as far as they do.
    """
    with locked(SHARED_MEMORY, lambda: say("waiting: another server on this machine is loading models"), _MOST_S):
        yield
