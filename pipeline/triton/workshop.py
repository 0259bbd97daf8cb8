"""Workshop: where an export is written, before all of it is renamed into the repository at once."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ge_engine.lock import locked


@contextmanager
def workshop(root: Path) -> Iterator[Path]:
    """A folder for one export; no other process exports into this repository meanwhile.

    It is beside the repository, where a polling server does not look, or in it where only it can be written, or where
    it is a disk of its own: a folder cannot be renamed onto another disk.
    """
    with locked(root) as alone:
        if alone:
            _remove_left(root)
        folder = _beside(root) or Path(tempfile.mkdtemp(prefix=_prefix(root), dir=root))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def move_in(folder: Path, root: Path, names: Sequence[str]) -> None:
    """Rename what was written into the repository, in this order: all of it, or nothing."""
    moved: list[str] = []
    try:
        for name in names:
            os.rename(folder / name, root / name)
            moved.append(name)
    except BaseException:
        for name in reversed(moved):
            os.rename(root / name, folder / name)
        raise


def _prefix(root: Path) -> str:
    return f".gepipe-{root.resolve().name}-"


def _remove_left(root: Path) -> None:
    """Remove what exports that were killed have left; a graph may be large."""
    pattern = re.compile(rf"{re.escape(_prefix(root))}[a-z0-9_]{{8}}")  # as mkdtemp names it
    for place in (root.resolve().parent, root):
        for name in os.listdir(place) if os.access(place, os.R_OK) else ():
            if pattern.fullmatch(name):
                shutil.rmtree(place / name, ignore_errors=True)


def _beside(root: Path) -> Path | None:
    """A new folder beside the repository, if what is in it can be renamed into the repository."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=_prefix(root), dir=root.resolve().parent))
    except OSError:
        return None
    trial, there = folder / "trial", root / f"{folder.name}.trial"  # a file: servers look at folders
    trial.touch()
    try:
        os.rename(trial, there)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    there.unlink()
    return folder
