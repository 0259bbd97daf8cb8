"""CANN: which version is installed, and where its compiler is."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ops import DeviceError

from ..devices.ascend.library import INSTALL

_HOMES = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
_USUAL = tuple(f"usr/local/Ascend/{name}" for name in ("ascend-toolkit/latest", "cann", "nnrt/latest"))
_NOTES = (
    "ascend_toolkit_install.info",
    "ascend_nnrt_install.info",
    "ascend_install.info",
    "version.info",
    "version.cfg",
)
_VERSION = re.compile(r"^\s*(?:\w*_)?version\s*=\s*\[?(?:[\d.]+:)*([\w.]+)", re.IGNORECASE | re.MULTILINE)


def find_atc() -> str:
    """The compiler, by PATH. Errors: DeviceError."""
    found = shutil.which("atc")
    if found is None:
        raise DeviceError("`atc`, CANN's compiler, is not on PATH", fix=INSTALL)
    return found


def cann_version(root: Path = Path("/")) -> str:
    """The version of the CANN in the environment; of one that does not say it, where and of when its compiler is.

    root: the folder below which a toolkit that nobody names is looked for.
    """
    for home in _homes(root):
        version = version_of(home)
        if version is not None:
            return version
    atc = shutil.which("atc")
    if atc is None:
        return "unknown"
    path = os.path.realpath(atc)
    return f"unknown, {path} of {os.stat(path).st_mtime_ns}"


def version_of(home: Path) -> str | None:
    """What an installation says of itself; None where it says nothing."""
    for note in _notes(home):
        try:
            found = _VERSION.search(note.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
        if found:
            return found.group(1)
    return None


def named_homes() -> dict[str, Path]:
    """The toolkits that the environment names, by variable."""
    return {name: Path(os.environ[name]) for name in _HOMES if os.environ.get(name)}


def usual_homes(root: Path = Path("/")) -> list[Path]:
    """Where a toolkit is that nobody has named."""
    return [root / place for place in _USUAL if (root / place).exists()]


def _homes(root: Path) -> Iterator[Path]:
    yield from named_homes().values()
    atc = shutil.which("atc")
    if atc is not None:
        yield from list(Path(os.path.realpath(atc)).parents)[:3]  # bin, the architecture, the version
    yield from usual_homes(root)


def _notes(home: Path) -> Iterator[Path]:
    for name in _NOTES:
        yield home / name
        yield from sorted(home.glob(f"*-linux/{name}"))  # by architecture
