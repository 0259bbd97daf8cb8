"""Watches the host stage processes of a server: says when one dies, and has its model loaded again.

Triton 24.10 goes on calling such a model ready and answers each request with "Stub process is not healthy"; 24.02
starts the process anew when a request has failed, and may crash over it.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable

from .processes import Process, Region, Stub, regions, session, stub

_LOOK_EVERY_S = 1.0  # for new processes; the end of a known one wakes at once


class Watch(threading.Thread):
    """Looks after the stubs of the server `leader` until `stop`.

    serving: whether the server calls a model ready. reload: has a dead stub's model loaded again.
    `regions`: the regions of shared memory that the server was ever seen with.
    """

    def __init__(
        self,
        leader: int,
        serving: Callable[[str], bool],
        reload: Callable[[Stub], None],
        say: Callable[[str], None],
    ) -> None:
        super().__init__(name="gepipe-watch", daemon=True)
        self.regions: set[Region] = set()
        self._leader = leader
        self._serving = serving
        self._reload = reload
        self._say = say
        self._stubs: dict[int, Stub] = {}
        self._handles: dict[int, int] = {}
        self._lost: set[str] = set()
        self._stop_reading, self._stop_writing = os.pipe()
        self._look()

    def run(self) -> None:
        while True:
            ready, _, _ = select.select([self._stop_reading, *self._handles.values()], [], [], _LOOK_EVERY_S)
            if self._stop_reading in ready:
                break
            self._look()
        for handle in (self._stop_reading, *self._handles.values()):
            os.close(handle)

    def stop(self) -> None:
        """End the watch, not the server; `join` waits for it."""
        os.close(self._stop_writing)

    def _look(self) -> None:
        processes = {process.pid: process for process in session(self._leader)}
        ended = [pid for pid in self._stubs if pid not in processes or not processes[pid].alive]
        gone = {pid: self._forget(pid) for pid in ended}
        new = [process.pid for process in processes.values() if process.alive and process.pid not in self._stubs]
        for pid in new:
            self._meet(pid)
        if new:
            self.regions |= regions(self._leader)
        dead = [gone[pid] for pid in ended if pid in processes and self._died(gone[pid], processes[pid])]
        for one in {one.model: one for one in dead}.values():
            self._reload(one)

    def _meet(self, pid: int) -> None:
        found = stub(pid)
        if found is None:
            return
        try:
            self._handles[pid] = os.pidfd_open(pid)
        except OSError:  # it has ended meanwhile
            return
        self._stubs[pid] = found
        if found.instance in self._lost:
            self._lost.remove(found.instance)
            self._say(f"host stage process {found.instance} is back (process {pid})")

    def _forget(self, pid: int) -> Stub:
        os.close(self._handles.pop(pid))
        return self._stubs.pop(pid)

    def _died(self, one: Stub, process: Process) -> bool:
        """Whether it died while it was needed: a server ends stubs too, when it unloads or replaces their model."""
        replaced = any(other.instance == one.instance for other in self._stubs.values())
        if process.exit_code == 0 or replaced or not self._serving(one.model):
            return False
        self._lost.add(one.instance)
        self._say(f"host stage process {one.instance} (process {one.pid}) died: {_how(process.exit_code)}")
        return True


def _how(exit_code: int) -> str:
    code = os.waitstatus_to_exitcode(exit_code)
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
