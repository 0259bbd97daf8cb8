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
def locked(path: Path, waiting: Callable[[], None] = lambda: None, at_most_s: float = float("inf")) -> Iterator[bool]:
    """Hold a file or a folder for oneself; `waiting` is called once if somebody else has it.

    It goes on without after at_most_s of waiting, and where the system or the disk has no locks: then it gives False.
    """
    if not HAS_LOCKS:
        yield False
        return
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    handle = os.open(path, flags, 0o666)
    try:
        yield _held(handle, waiting, at_most_s)
    finally:
        os.close(handle)


def _held(handle: int, waiting: Callable[[], None], at_most_s: float) -> bool:
    try:
        if try_lock(handle):
            return True
        waiting()
        deadline = time.monotonic() + at_most_s
        while not (held := try_lock(handle)) and time.monotonic() < deadline:
            time.sleep(_PACE_S)
        return held
    except OSError:  # the disk has no locks
        return False


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
