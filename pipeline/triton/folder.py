"""A model's folder, looked at without running, following or loading any of it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .config import CONFIG
from .problem import Place, Problem

MAX_BYTES = 4 << 20
_MAX_FILES = 20_000  # of one model; enough for any bundle, and an end to a folder that was not meant
_VERSION = re.compile(r"\s*[+-]?\d+")  # what std::stoll reads of a name
INT64 = range(-(2**63), 2**63)
NOT_VERSIONS = ("warmup", "initial_state")  # folders that the server reads for something else


@dataclass
class Folder:
    """One folder of a repository. `links_out` are links that lead out of the repository; they are not followed."""

    path: str
    root: str
    links_out: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def config_path(self) -> str:
        return os.path.join(self.path, CONFIG)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The names of the folders in it, sorted."""
        return tuple(sorted(entry for entry in _names(self.path) if os.path.isdir(os.path.join(self.path, entry))))

    @cached_property
    def versions(self) -> dict[int, str]:
        """Version numbers as the server reads them from folder names."""
        found: dict[int, str] = {}
        for name in self.folders:
            number = version_of(name)
            if number is not None and number in INT64 and name not in NOT_VERSIONS:
                found.setdefault(number, name)
        return found

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Every file below, as paths relative to the folder, sorted. Links out of the repository are left out."""
        return tuple(sorted(self._walk()))

    def has(self, *parts: str) -> bool:
        """Whether there is something of that name: a link counts, wherever it leads."""
        return os.path.lexists(os.path.join(self.path, *parts))

    def read(self) -> tuple[str | None, Problem | None]:
        """The text of config.pbtxt, None where there is none; bytes that are not UTF-8 become U+FFFD."""
        place = Place(self.config_path)
        if not os.path.lexists(self.config_path):
            return None, None if os.access(self.path, os.R_OK | os.X_OK) else _closed(self.path)
        if leads_out(self.config_path, self.root):
            return None, link_out(self.config_path)
        try:
            status = os.stat(self.config_path)
            if not stat.S_ISREG(status.st_mode):
                fix = f"make {CONFIG} a file"
                return None, Problem("M01", place, f"failed to read text proto from {self.config_path}: no file", fix)
            if status.st_size > MAX_BYTES:
                message = f"{status.st_size} bytes: lint reads up to {MAX_BYTES}"
                return None, Problem("L21", place, message, "keep what is not a setting out of it")
            with open(self.config_path, "rb") as file:
                return file.read(MAX_BYTES).decode("utf-8", "replace"), None
        except OSError as error:
            message = f"failed to open text file for read {self.config_path}: {error.strerror}"
            return None, Problem("M01", place, message, "look at its permissions")

    def _walk(self) -> Iterator[str]:
        count = 0
        for base, folders, files in os.walk(self.path):
            for name in (*folders, *files):
                path = os.path.join(base, name)
                if leads_out(path, self.root):
                    self.links_out.append(path)
                elif name in files:
                    yield os.path.relpath(path, self.path)
            count += len(files)
            if count > _MAX_FILES:
                return


def is_model(path: Path) -> bool:
    """Whether it is the folder of a model, not one of several: it has a config, or versions with a model in them.

    A repository may hold models that are called 1 and 2; those have a config, or versions, themselves.
    """
    return (path / CONFIG).is_file() or any(path.glob("[0-9]*/model.*"))


def leads_out(path: str, root: str) -> bool:
    """Whether it is a link to something outside the repository `root`, whose own path has no links."""
    return os.path.islink(path) and not (_target(path) + os.sep).startswith(root + os.sep)


def link_out(path: str) -> Problem:
    """A link that leads out of the repository."""
    message = f"a link to {_target(path)}, which is not in the repository: not looked at"
    return Problem("L20", Place(path), message, "copy the file into the repository", "fails")


def _target(path: str) -> str:
    """Where a link leads."""
    try:
        return os.path.realpath(path)
    except OSError:  # so do links of /proc that are not one's own
        return "a place that cannot be read"


def _closed(path: str) -> Problem:
    message = f"the folder cannot be read by this user: not looked at, and a server of this user would not load {path}"
    return Problem("M01", Place(path), message, "look at its permissions")


def version_of(name: str) -> int | None:
    """The version that the server reads from a folder's name; None where it ignores the folder.

    >>> version_of("1"), version_of("1_old"), version_of("01"), version_of("assets")
    (1, 1, None, None)
    """
    match = _VERSION.match(name)
    if not match or (len(name) > 1 and name.startswith("0")):
        return None
    return int(match[0]) if len(match[0]) < 4000 else 2**64


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
