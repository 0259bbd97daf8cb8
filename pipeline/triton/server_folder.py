"""Server folder: a temporary one for a server and its log, which can be read for a day after the server's end."""

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
    """Remove one's own folders whose servers are dead, and have written nothing for a day."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # another's, or it goes while we look
            log = folder / LOG
            newest = max(path.lstat().st_mtime for path in (folder, log) if path.exists())
            if folder.lstat().st_uid != os.getuid() or folder.is_symlink() or newest > time.time() - _KEPT_S:
                continue
            handle = os.open(folder, os.O_RDONLY)
            try:
                if try_lock(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
