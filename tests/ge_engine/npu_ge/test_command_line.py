from __future__ import annotations

from pathlib import Path

from ge_engine.npu_ge.command_line import CommandLine


def test_what_is_written_is_read(tmp_path: Path) -> None:
    told = CommandLine(backend_config={"device_ids": "0,1"}, auto_complete=False, threads=1)
    told.write(tmp_path)
    assert CommandLine.beside(tmp_path) == told


def test_nothing_written_are_the_defaults(tmp_path: Path) -> None:
    assert CommandLine.beside(tmp_path) == CommandLine({}, True, None)
