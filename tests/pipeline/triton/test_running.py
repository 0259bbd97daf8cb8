from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("servers run on Linux", allow_module_level=True)

STARTS = """
import os, sys, time
from pathlib import Path
from pipeline.triton.running import Running

folder = Path(sys.argv[1])
shell = "sleep 600 & echo $!; trap 'exit 1' TERM; wait"
started = Running(["sh", "-c", shell], dict(os.environ), folder, folder / "log")
while not started.said().strip():
    assert not started.ended(0.05)
print(started.said().strip(), flush=True)
sys.stdin.read()
started.end()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
def test_all_of_it_ends_with_the_process_that_started_it_however_that_ends(number: int | None, tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        try:
            if number is not None:
                parent.send_signal(number)
            parent.stdin.close()
            assert select.select([child], [], [], 30)[0], "it goes on"
        finally:
            os.close(child)
    assert parent.returncode == (0 if number is None else -number)
