"""A server process with all that it starts: from the first to the last of them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from ge_engine.guard import Guard

from .processes import Region, end_session, remove

_EXIT_S = 40  # the server itself gives requests and models 30 s


class Running:
    """A process in a session of its own, started in a folder of its own, which writes to a log.

    So Ctrl-C is for us, who then stop the server; what the server starts can be told from all else, even when the
    server is gone; and relative paths that a backend writes to do not end in the repository. It ends with us, even when
    we are killed.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], folder: Path, log: Path) -> None:
        self._log = log
        with log.open("ab") as file:
            self._from = file.tell()
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._guard = Guard(self.pid, _EXIT_S)
        self._over = False

    def ended(self, within_s: float | None = None) -> str:
        """How it ended, waiting for that; "" if it did not within that time."""
        try:
            code = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return ""
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def said(self) -> str:
        """What it has written to the log."""
        with self._log.open("rb") as file:
            file.seek(self._from)
            return file.read().decode(errors="replace")

    def end(self, seen: Set[Region] = frozenset()) -> None:
        """End it and what it has started; remove its shared memory, and the regions that it was seen with before."""
        if self._over:  # its number may be another's by now
            return
        self._over = True
        self._process.terminate()
        if not self.ended(_EXIT_S):
            self._process.kill()
            self._process.wait()
        self._guard.dismiss()
        remove(end_session(self.pid) | seen)
