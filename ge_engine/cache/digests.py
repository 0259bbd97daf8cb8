"""Digests of files: a model of many megabytes is not read again as long as it is the same file.

What is remembered belongs to a path, and holds while device, inode, size, and the times of the last change of content
and of status do. The latter cannot be set, so a file that was put back with its old date is read again. A file that
changed less than two seconds before it was read might change once more within one tick of its clock: its digest is not
remembered.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..whole_file import write_whole

_TICK_NS = 2_000_000_000  # of the coarsest file system
_CHUNK = 1 << 20

State = list[int]


class Digests:
    """The digests that one build needs, and whether its files are still what they were."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[str, tuple[State, str]] = {}

    def of(self, path: str) -> str:
        """The sha256 of a file. Errors: OSError."""
        if path not in self._seen:
            state = _state(path)
            note = self.folder / f"{hashlib.sha256(os.path.abspath(path).encode()).hexdigest()}.json"
            known = _remembered(note, state)
            self._seen[path] = state, known or sha256(path)
            if not known and state == _state(path) and time.time_ns() - max(state[-2:]) > _TICK_NS:
                with suppress(OSError):
                    _remember(note, state, self._seen[path][1])
        return self._seen[path][1]

    def hold(self) -> bool:
        """Whether no file has changed since it was looked at."""
        try:
            return all(_state(path) == state for path, (state, _) in self._seen.items())
        except OSError:
            return False


def sha256(path: str | os.PathLike[str]) -> str:
    """Errors: OSError."""
    result = hashlib.sha256()
    for chunk in _chunks(path):
        result.update(chunk)
    return result.hexdigest()


def _chunks(path: str | os.PathLike[str]) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(_CHUNK))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            yield buffer[:count]


def _state(path: str) -> State:
    status = os.stat(path)
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _remembered(note: Path, state: State) -> str | None:
    try:
        known, digest = json.loads(note.read_bytes())
    except (OSError, ValueError, TypeError):
        return None
    return digest if known == state and isinstance(digest, str) and len(digest) == 64 else None


def _remember(note: Path, state: State, digest: str) -> None:
    note.parent.mkdir(parents=True, exist_ok=True)
    write_whole(note, json.dumps([state, digest]))
