"""Store: the entries of the cache. Each is a folder named by its key, renamed into place when it is whole."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from ops import BuildError

from ..lock import locked
from ..stage import Made
from . import manifest
from .digests import Digests
from .folders import IN_USE, PREFIX, Held, cache_folder, hold, new_folder, remove, sweep, take_away
from .manifest import About, Damaged

FOLDER, MOST = "GEPIPE_CACHE", "GEPIPE_CACHE_GB"
OFF = "off"
MOST_GB = 10.0
NAME = 12  # letters of a key that people read
_GB = 10**9
_WAIT_S = 600  # for another process that builds the same; one that hangs must not keep all others from it
_FORGET_S = 30 * 86400


@dataclass(frozen=True)
class Entry:
    """One built stage on disk. about: None where the manifest is damaged. owner: another user, if it is another's."""

    key: str
    path: Path
    about: About | None
    nbytes: int
    last_used_s: float
    owner: str = ""

    @property
    def name(self) -> str:
        return self.key[:NAME]


class Cache:
    """Built stages in a folder (the user's own cache where none is named), no more than most_nbytes of them."""

    def __init__(self, folder: Path | None = None, most_nbytes: int = int(MOST_GB * _GB)) -> None:
        self._folder = folder
        self.most_nbytes = most_nbytes

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Cache | None:
        """As GEPIPE_CACHE (a folder, or off) and GEPIPE_CACHE_GB say; None where it is off.

        Errors: BuildError for a size that is none, or the folder of a user who is not there.
        """
        words = environment.get(MOST) or str(MOST_GB)
        try:
            most_nbytes = int(float(words) * _GB)
        except (ValueError, OverflowError):
            most_nbytes = -1
        if most_nbytes < 0:
            raise BuildError(f"{MOST} is {words!r}", fix="give the most that the cache may hold in GB, as 10")
        name = environment.get(FOLDER, "")
        if name.lower() == OFF:
            return None
        try:
            return cls(Path(name).expanduser().absolute() if name else None, most_nbytes)
        except RuntimeError as error:  # of expanduser
            raise BuildError(f"{FOLDER} is {name!r}: {error}", fix=f"name a folder, or {OFF}") from error

    @property
    def folder(self) -> Path:
        """Errors: OSError for a user who has no home."""
        return self._folder or cache_folder() / "compiled"

    def digests(self) -> Digests:
        return Digests(self.folder / "digests")

    @property
    def readings(self) -> Path:
        """Where what another library said of a model is kept, by its content."""
        return self.folder / "readings"

    def take(self, key: str) -> tuple[Held, Made] | None:
        """An entry, held; None where it is not there, or is damaged. Errors: OSError."""
        held = hold(self._place(key))
        if held is None:
            return None
        try:
            made = manifest.read(held.path, key)
        except Damaged:
            held.close()
            return None
        except BaseException:
            held.close()
            raise
        with suppress(OSError):  # a cache may be read-only
            os.utime(held.path / IN_USE)
        return held, made

    def building(self, key: str, waiting: Callable[[], None]) -> AbstractContextManager[bool]:
        """Held by the one that builds an entry. `waiting` is called if it is somebody else. Errors: OSError."""
        return locked(self._made("locks") / key, waiting, _WAIT_S)

    def new(self) -> Held:
        """A folder to build an entry in. Errors: OSError."""
        sweep(Path(tempfile.gettempdir()))
        return new_folder(self._made("building"))

    def keep(self, key: str, held: Held, about: About, made: Made) -> Made:
        """Make an entry of what was built; where it lies now. Others make room for it, the least recently used first.

        What cannot be moved to its place stays as it is. Errors: OSError where there is no room.
        """
        manifest.write(held.path, key, about, made)
        place = self._place(key)
        self._made("entries")
        if os.path.lexists(place):  # damaged, or somebody was quicker: then it is in use
            remove(place, self._aside())
        try:
            held.moved(place)
        except OSError:
            return made
        with suppress(OSError):
            self._make_room(key)
        return manifest.moved(made, place)

    def entries(self) -> list[Entry]:
        """What there is and this user may read, the most recently used first. Errors: OSError."""
        found = []
        for place in self._places():
            with suppress(FileNotFoundError, PermissionError):  # it goes while we look, or it is another user's
                found.append(_entry(place))
        return sorted(found, key=lambda entry: -entry.last_used_s)

    def unreadable(self) -> dict[str, str]:
        """The names of the entries that this user may not read, and whose they are. Errors: OSError."""
        found = {}
        for place in self._places():
            try:
                os.scandir(place).close()
            except PermissionError:
                found[place.name[:NAME]] = _owner(place) or "this user"
            except OSError:  # a file, or it goes while we look: `entries` says
                continue
        return found

    def drop(self, entry: Entry) -> bool:
        """Remove an entry; False where a plan holds it. Errors: OSError where this user may not."""
        return take_away(entry.path, self._aside())

    def clear(
        self, older_than_s: float = 0, stays: Callable[[Entry, OSError | None], None] = lambda entry, error: None
    ) -> list[Entry]:
        """Remove what has not been used for so long; what went.

        stays: told of each entry that stays, with the reason; None: a plan holds it.
        Errors: OSError.
        """
        now = time.time()
        gone = []
        for entry in self.entries():
            if entry.last_used_s <= now - older_than_s:
                try:
                    if self.drop(entry):
                        gone.append(entry)
                    else:
                        stays(entry, None)
                except OSError as error:
                    stays(entry, error)
        sweep(self.folder / "building")
        self._forget(older_than_s)
        return gone

    def check(self) -> Iterator[tuple[Entry, str, bool]]:
        """Read every entry whole; those that are damaged, with the reason, and whether they could be removed.

        Errors: OSError.
        """
        for entry in self.entries():
            held = hold(entry.path)
            try:
                manifest.read(entry.path, entry.key, thorough=True)
            except Damaged as error:
                reason = str(error)
            else:
                continue
            finally:
                if held:
                    held.close()
            yield entry, reason, remove(entry.path, self._aside())

    def _make_room(self, key: str) -> None:
        entries = self.entries()
        total = sum(entry.nbytes for entry in entries)
        for entry in reversed(entries):
            if total > self.most_nbytes and entry.key != key and remove(entry.path, self._aside()):
                total -= entry.nbytes
        self._forget(_FORGET_S)

    def _forget(self, older_than_s: float) -> None:
        """Remove old digests, readings and locks; a lock that somebody waits for only lets two build the same."""
        before = time.time() - older_than_s
        for folder in ("digests", "locks", "readings"):
            for path in (self.folder / folder).glob("*"):
                with suppress(OSError):  # it goes while we look, or is none of ours
                    if path.lstat().st_mtime <= before:
                        path.unlink()

    def _places(self) -> list[Path]:
        try:
            names = os.listdir(self.folder / "entries")
        except FileNotFoundError:
            return []
        return [self.folder / "entries" / name for name in names if re.fullmatch(r"[0-9a-f]{64}", name)]

    def _place(self, key: str) -> Path:
        return self.folder / "entries" / key

    def _made(self, name: str) -> Path:
        """A folder of the cache, private to its user, as caches are. Errors: OSError."""
        if not self.folder.is_dir():
            if self.folder.exists():
                raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(self.folder))
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _aside(self) -> Path:
        return self._made("building") / f"{PREFIX}{os.getpid()}-{time.monotonic_ns()}.gone"


def said(error: OSError) -> str:
    """An error of the system, without its number."""
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)


def _owner(place: Path) -> str:
    """The user whose it is; empty for this one."""
    try:
        if place.lstat().st_uid == os.getuid():
            return ""
        return place.owner()
    except (OSError, KeyError):  # KeyError: no name belongs to the number
        return "another user"
    except (AttributeError, NotImplementedError):  # Windows has no such numbers
        return ""


def _entry(place: Path) -> Entry:
    """Errors: OSError for one that may not be read."""
    nbytes = sum(path.lstat().st_size for path in place.iterdir()) if place.is_dir() else place.lstat().st_size
    try:
        about = manifest.about(place)
    except Damaged:
        about = None
    try:
        last_used_s = (place / IN_USE).stat().st_mtime
    except OSError:
        last_used_s = place.lstat().st_mtime
    return Entry(place.name, place, about, nbytes, last_used_s, _owner(place))
