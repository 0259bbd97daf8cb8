"""Arrays: those that a user gives in numpy's own files."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

import numpy as np

from ops import Array, WrongUse

ALONE = ""  # stands for the name of the one array of a .npy

_T = TypeVar("_T")
# numpy has no family of exceptions, and a damaged .npz is found when the array in it is read. A size that a header
# makes up is a MemoryError.
_DAMAGED = (OSError, ValueError, EOFError, KeyError, NotImplementedError, MemoryError, BadZipFile, zlib.error)


def names_in(path: Path) -> list[str]:
    """The names of the arrays in a .npz. Errors: as arrays_in."""
    return _read(path, list)


def array_in(path: Path, name: str = ALONE) -> Array:
    """One of the arrays. Errors: as arrays_in."""
    return _read(path, lambda opened: opened[name])


def arrays_in(path: Path) -> dict[str, Array]:
    """The arrays of a .npz by name, or that of a .npy. Errors: WrongUse for a file that is neither, or is damaged."""
    return _read(path, dict)


def _read(path: Path, what: Callable[[Mapping[str, Array]], _T]) -> _T:
    try:
        with path.open("rb") as file:
            opened = np.load(file, allow_pickle=False)
            return what({ALONE: opened} if isinstance(opened, np.ndarray) else opened)
    except _DAMAGED as error:
        raise WrongUse(
            f"{path} cannot be read: {error or type(error).__name__}",
            fix="write it with numpy.savez(file, name=array), or numpy.save",
        ) from error
