from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ge_engine.npu_ge.streams import Streams

INSTANCE = """
import sys
from pathlib import Path
from ge_engine.npu_ge.streams import Streams

streams = Streams(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
for _ in sys.stdin:
    with streams.one():
        print("runs", flush=True)
        sys.stdin.readline()
    print("done", flush=True)
"""


class Instance:
    """A process that takes a stream when told to, and gives it back when told to."""

    def __init__(self, file: Path, model: str, count: int) -> None:
        command = [sys.executable, "-c", INSTANCE, str(file), model, str(count)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def instances(file: Path, number: int, count: int, model: str = "m") -> Iterator[list[Instance]]:
    started = [Instance(file, model, count) for _ in range(number)]
    try:
        yield started
    finally:
        for one in started:
            one.process.kill()
            one.process.communicate()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text("here anyway")
    return path


def test_two_streams_run_two_and_the_third_waits(file: Path) -> None:
    with instances(file, 3, count=2) as (a, b, c):
        for one in (a, b):
            one.tell()
            assert one.says() == "runs"
        c.tell()
        for one in (a, b):  # whichever of the two it waits for
            one.tell()
            assert one.says() == "done"
        assert c.says() == "runs"
    assert file.read_text() == "here anyway"


def test_a_killed_instance_gives_its_stream_back(file: Path) -> None:
    with instances(file, 2, count=1) as (a, b):
        a.tell()
        assert a.says() == "runs"
        b.tell()
        a.process.kill()
        assert b.says() == "runs"


def test_models_do_not_wait_for_each_other(file: Path) -> None:
    with instances(file, 1, count=1, model="one") as (a,), instances(file, 1, count=1, model="other") as (b,):
        for one in (a, b):
            one.tell()
            assert one.says() == "runs"


def test_a_stream_is_given_back_after_a_failure(file: Path) -> None:
    streams = Streams(file, "m", 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="the run failed"), streams.one():
            raise ValueError("the run failed")
