"""Server folder: a temporary one for a server and its log, which stays for a day, unless several have ended since."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from ge_engine.lock import try_lock

PREFIX = "gepipe-serve-"
LOG = "server.log"
_KEPT_S = 86400
_KEPT = 8  # of those that have ended, the newest


class ServerFolder:
    """Locked until `close`, so that nobody takes it for what a dead server has left. Making one sweeps those up."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.log = self.path / LOG
        self._handle: int | None = os.open(self.path, os.O_RDONLY)
        with suppress(OSError):  # a disk without locks
            try_lock(self._handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _sweep(parent: Path) -> None:
    """Remove one's own folders whose servers are dead, but the newest few that have written something within a day."""
    kept = 0
    for folder in sorted(parent.glob(f"{PREFIX}*"), key=_written, reverse=True):
        with suppress(OSError):  # another's, or it goes while we look
            if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
                continue
            handle = os.open(folder, os.O_RDONLY)
            try:
                if not try_lock(handle):
                    continue
                kept += 1
                if kept > _KEPT or _written(folder) <= time.time() - _KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _written(folder: Path) -> float:
    """When something was written in it last; 0 where it is gone."""
    times = [0.0]
    for path in (folder, folder / LOG):
        with suppress(OSError):
            times.append(path.lstat().st_mtime)
    return max(times)
