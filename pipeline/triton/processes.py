"""The processes of a server, and its regions of shared memory, as the kernel tells them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .find_server import STUB
from .lock import SHARED_MEMORY

_STATE, _SESSION, _EXIT_CODE = 0, 3, 49  # places in /proc/PID/stat after the name; see proc(5)
_REGION = re.compile(rf"\s(\d+)\s+{SHARED_MEMORY}/(triton_\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Process:
    """A process; `alive` is False for one that has ended and whose parent has not yet asked how: by this exit code."""

    pid: int
    alive: bool
    exit_code: int


@dataclass(frozen=True)
class Stub:
    """A host stage process: the instance that it runs, its model, and the version's folder in the repository."""

    pid: int
    instance: str
    model: str
    folder: Path


@dataclass(frozen=True)
class Region:
    """A region of shared memory: servers give the same names to different ones, so the inode counts, too."""

    name: str
    inode: int


def session(leader: int) -> list[Process]:
    """The processes that a server has started, however deep; not the server itself."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != leader:
            with contextlib.suppress(OSError):  # it may end meanwhile
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if int(fields[_SESSION]) == leader:
                    found.append(Process(int(entry), fields[_STATE] not in "ZX", int(fields[_EXIT_CODE])))
    return found


def stub(pid: int) -> Stub | None:
    """What a process is, if it is a stub of the Python backend."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    if len(command) < 9 or os.path.basename(command[0]) != STUB:
        return None
    folder = Path(command[1]).parent
    return Stub(pid, command[8], folder.parent.name, folder)


def regions(pid: int) -> set[Region]:
    """The regions that a process has open under their names."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return set()
    return {Region(name, int(inode)) for inode, name in _REGION.findall(maps)}


def remove(found: Iterable[Region]) -> None:
    """Remove regions, unless another server has given the name to one of its own."""
    for region in found:
        with contextlib.suppress(OSError):
            path = SHARED_MEMORY / region.name
            if path.stat().st_ino == region.inode:
                path.unlink()


def end_session(leader: int) -> set[Region]:
    """End what a server has left behind; the regions that it had open. Orphaned stubs ignore SIGTERM."""
    left = set()
    for process in session(leader):
        left |= regions(process.pid)
        if process.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    return left
