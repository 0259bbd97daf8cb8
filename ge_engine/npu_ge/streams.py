"""Streams: at most so many runs of a model at once. Its instances are processes, so it takes locks between them."""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MOST = 1 << 20  # streams of one model: how far the bytes of two models are apart


class Streams:
    """The streams of a model, shared by all its instances in one server.

    A stream is a byte of a file that is there anyway, far beyond its end; who runs holds a lock on it. A lock ends
    with its process, so no stream is ever lost; the file stays open as long.
    """

    def __init__(self, file: Path, model: str, count: int) -> None:
        self._file = os.open(file, os.O_RDWR)
        self._first = zlib.crc32(model.encode()) * _MOST
        self._count = count

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a stream; waits for one."""
        stream = self._take()
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, stream)

    def _take(self) -> int:
        own = os.getpid() % self._count
        for place in range(self._count):
            stream = self._first + (own + place) % self._count
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, stream)
            except OSError:  # another instance has it
                continue
            return stream
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, self._first + own)
        return self._first + own
