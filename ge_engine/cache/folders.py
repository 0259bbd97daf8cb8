"""Folders that a process holds: nobody takes them away while it lives, and what a dead one leaves behind is swept up.

A folder is held by a shared lock on the file `in_use` in it, which ends with the process however that ends. (On Windows
a file that is open keeps its folder from being renamed, which does as well.)
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from .. import lock

PREFIX = "gepipe-"
IN_USE = "in_use"
_FRESH_S = 3600  # an empty folder that is younger may belong to a process that is about to fill it


def cache_folder() -> Path:
    """Where gepipe keeps what can be made again. Errors: OSError for a user who has no home."""
    try:
        if sys.platform == "win32":
            folder = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / "Library" / "Caches"
        else:
            folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise OSError(str(error)) from error
    return Path(folder) / "gepipe"


class Held:
    """A folder that is held until `close`; a temporary one is removed then.

    A process that was forked off holds it too, but may not take it away.
    """

    def __init__(self, path: Path, handle: int, temporary: bool) -> None:
        self.path = path
        self._handle = handle
        self._owner = os.getpid() if temporary else None
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            os.close(self._handle)
            if self._owner == os.getpid():
                shutil.rmtree(self.path, ignore_errors=True)

    def moved(self, path: Path) -> None:
        """Rename the folder, which is to stay from now on, for those whom the umask lets read.

        Errors: OSError where the place is taken.
        """
        _share_by_umask(self.path)
        if not lock.HAS_LOCKS:  # then an open file would be in the way
            os.close(self._handle)
        try:
            os.rename(self.path, path)
            self.path, self._owner = path, None
        finally:
            if not lock.HAS_LOCKS:
                self._handle = os.open(self.path / IN_USE, os.O_RDONLY)


def new_folder(parent: Path) -> Held:
    """A temporary folder; what dead processes left beside it is swept up. Errors: OSError."""
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        handle = _opened(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Held(folder, handle, temporary=True)


def _opened(folder: Path) -> int:
    """The file that says so, held."""
    place = folder / IN_USE
    if not lock.HAS_LOCKS:
        return os.open(place, os.O_RDWR | os.O_CREAT)
    fresh = folder / f"{IN_USE}.new"  # it has its name when it is locked, and not a moment before
    handle = os.open(fresh, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _share(handle)
        os.rename(fresh, place)
    except BaseException:
        os.close(handle)
        raise
    return handle


def hold(folder: Path) -> Held | None:
    """Hold a folder that is there to stay; None where it is not there, or on its way out."""
    place = folder / IN_USE
    try:
        handle = os.open(place, os.O_RDONLY)
    except OSError:
        return None
    if _share(handle) and _is_there(handle, place):
        return Held(folder, handle, temporary=False)
    os.close(handle)
    return None


def remove(folder: Path, aside: Path) -> bool:
    """Take a folder away, unless somebody holds it, or this user may not; whether it went. Otherwise as `take_away`."""
    try:
        return take_away(folder, aside)
    except OSError:
        return False


def take_away(folder: Path, aside: Path) -> bool:
    """Take a folder away; False where somebody holds it.

    aside: the name it has while it goes, so that nobody finds half of it.
    Errors: OSError where this user may not.
    """
    handle = -1
    try:
        if lock.HAS_LOCKS and (folder / IN_USE).exists():
            handle = os.open(folder / IN_USE, os.O_RDWR)
            if not lock.try_lock(handle):
                return False
        os.rename(folder, aside)
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.unlink()
    finally:
        if handle >= 0:
            os.close(handle)
    return True


def sweep(parent: Path) -> None:
    """Remove the folders that processes which are dead now have made in `parent`, and no others."""
    try:
        ours = [entry for entry in os.scandir(parent) if entry.name.startswith(PREFIX) and _is_ours(entry)]
    except OSError:
        return
    for entry in ours:
        if _was_filled(entry):
            remove(Path(entry.path), Path(f"{entry.path}.gone"))
        elif re.fullmatch(rf"{PREFIX}[a-z0-9_]{{8}}", entry.name):  # it was ended before it came to that
            with suppress(OSError):
                if entry.stat().st_mtime < time.time() - _FRESH_S:
                    os.rmdir(entry.path)  # nothing but an empty one goes


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        made_by_us = not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()
        return made_by_us and entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _was_filled(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISREG(os.lstat(os.path.join(entry.path, IN_USE)).st_mode)
    except OSError:
        return False


def _share_by_umask(folder: Path) -> None:
    """A temporary folder is its owner's alone. What the umask gives to others is read off a file, which has it."""
    with suppress(OSError):  # a disk without modes
        mode = stat.S_IMODE((folder / IN_USE).stat().st_mode)
        readers = mode & 0o444
        os.chmod(folder, stat.S_IMODE(folder.stat().st_mode) | mode | readers >> 2)


def _share(handle: int) -> bool:
    try:
        return lock.try_lock(handle, shared=True)
    except OSError:  # no locks here: then nothing is removed either
        return True


def _is_there(handle: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except OSError:
        return False
