"""Locks between the processes of one machine. They end with the process that holds them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:
    HAS_LOCKS = False  # Windows
else:
    HAS_LOCKS = True

_PACE_S = 0.05


@contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None, at_most_s: float = float("inf")) -> Iterator[None]:
    """Hold a file or a folder for oneself; `waiting` is called once if somebody else has it.

    It goes on without after at_most_s of waiting, and where the file system has no locks.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    handle = os.open(path, flags, 0o666)
    try:
        if not _taken(handle):
            waiting()
            deadline = time.monotonic() + at_most_s
            while not _taken(handle) and time.monotonic() < deadline:
                time.sleep(_PACE_S)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        return try_lock(handle)
    except OSError:
        return True


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting; whether nobody else has it. Where there are no locks at all, nobody ever has.

    Errors: OSError where the file system has none.
    """
    if HAS_LOCKS:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
