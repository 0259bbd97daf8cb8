"""Arrays: those that a user gives in numpy's own files."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

import numpy as np

from ops import Array, WrongUse
from ops.near import nearest

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


def inputs_in(path: Path, names: Sequence[str]) -> dict[str, Array]:
    """The arrays of a file, with every input among them by its name; that of a .npy is the only input.

    Errors: as arrays_in; WrongUse where an input is missing.
    """
    found = arrays_in(path)
    if len(names) == 1 and ALONE in found:
        return {names[0]: found[ALONE]}
    missing = [name for name in names if name not in found]
    if missing:
        there = ", ".join(filter(None, found)) or "no array with a name"
        raise WrongUse(f"{path} has no input {missing[0]!r}; it has {there}", fix=_renamed(missing, names, found))
    return found


def _renamed(missing: Sequence[str], names: Sequence[str], found: Mapping[str, Array]) -> str:
    """What to change: the file, since the model's names stand."""
    others = [name for name in found if name and name not in names]
    alone = others[0] if len(others) == len(missing) == 1 else None
    meant = nearest(missing[0], others) or alone
    if meant is not None:
        return f"in the file call {meant!r} {missing[0]!r}"
    return f"write it with numpy.savez(file, name=array), by the inputs' names: {', '.join(names)}"


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
