from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ge_engine.guard import Guard

if sys.platform != "linux":
    pytest.skip("servers and atc run on Linux", allow_module_level=True)

FAMILY = ["/bin/sh", "-c", "sleep 600 & echo up; wait"]
PARENT = f"""
import os, subprocess, sys
from ge_engine.guard import Guard
leader = subprocess.Popen({FAMILY}, start_new_session=True)
guard = Guard(leader.pid)
os.write(1, b"guarded\\n")  # at once: the family writes there too
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_process_has_started_ends_with_it_and_so_does_what_that_has_started(how: int) -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert {parent.stdout.readline(), parent.stdout.readline()} == {"up\n", "guarded\n"}
        parent.send_signal(how)
        assert parent.stdout.read() == ""  # nobody has it open any more: not the leader, nor its child


def test_a_guard_that_is_dismissed_does_nothing() -> None:
    with subprocess.Popen(FAMILY, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline() == "up\n"
        with Guard(leader.pid):
            pass
        assert leader.poll() is None
        os.killpg(leader.pid, signal.SIGKILL)
    assert leader.returncode == -signal.SIGKILL
