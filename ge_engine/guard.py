"""Guard: ends what this process has started, should this process be killed."""

from __future__ import annotations

import subprocess

_SCRIPT = """
read -r _
kill -s TERM "$0"
for _ in $(seq "$1"); do [ -e "/proc/$0/exe" ] || break; sleep 1; done
kill -s KILL -- "-$0"
"""  # a zombie has no exe


class Guard:
    """A process that waits for the end of this one, however it ends, and then ends another with all of its group.

    leader: of a group of its own (start_new_session). grace_s: what it has, once told to end, before it is killed.
    Linux can send a signal at the death of a parent, but it means the thread that started the process, which may be one
    of a pool.
    """

    def __init__(self, leader: int, grace_s: int = 0) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, str(leader), str(grace_s)],
            cwd="/",
            stdin=subprocess.PIPE,  # which the system closes when this process ends
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *exc: object) -> None:
        self.dismiss()

    def dismiss(self) -> None:
        """What it guards has ended."""
        self._process.kill()
        self._process.communicate()
