"""npz: named arrays in one file, written one at a time, so that never all of them are in memory."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ops import Array


class NpzWriter:
    """A context manager; numpy.load reads the file, which is there when all of it is. Nothing is pickled.

    Any name will do. Bytes become uint8[n]; an array of texts one of fixed width.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.{os.getpid()}")
        self._zip = zipfile.ZipFile(self._part, "w", zipfile.ZIP_STORED, allowZip64=True)

    def add(self, name: str, value: Any) -> None:
        """One more array."""
        with self._zip.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, _plain(value), allow_pickle=False)

    def __enter__(self) -> NpzWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            self._zip.close()
            if error is None:
                os.replace(self._part, self._path)
        finally:
            with suppress(OSError):
                self._part.unlink()


def _plain(value: Any) -> Array:
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    array = np.asarray(value)
    if array.dtype != object:
        return array
    return array.astype(bytes if all(isinstance(item, bytes) for item in array.flat) else str)
