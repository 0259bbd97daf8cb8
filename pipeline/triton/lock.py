"""The lock that servers take while they load: see ge_engine.lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ge_engine.lock import locked

SHARED_MEMORY = Path("/dev/shm")
_MOST_S = 120  # for another server's models: one that hangs must not keep all others from starting


@contextmanager
def loading(say: Callable[[str], None]) -> Iterator[None]:
    """Held while a server starts or loads models.

    Triton 24.02 counts its regions of shared memory from 1 in each server: two that load at the same moment take each
    other's. The lock is on the folder where the regions are, so it reaches exactly as far as they do.
    """
    with locked(SHARED_MEMORY, lambda: say("waiting: another server on this machine is loading models"), _MOST_S):
        yield
