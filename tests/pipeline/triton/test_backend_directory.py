from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ge_engine.npu_ge.command_line import CommandLine
from pipeline.triton.backend_directory import backend_directory
from pipeline.triton.find_server import STUB, Installation

SETTINGS = CommandLine({"device_ids": "0"}, auto_complete=False)


@pytest.fixture
def server(tmp_path: Path) -> Installation:
    home = tmp_path / "server"
    for name in ("python/libtriton_python.so", "python/triton_python_backend_utils.py", "onnxruntime/lib.so"):
        (home / "backends" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "backends" / name).touch()
    stub = home / "python_backend_stubs" / "3.10" / STUB
    stub.parent.mkdir(parents=True)
    stub.write_bytes(b"libpython3.10.so")
    return Installation(home, "")


def test_the_stand_in_joins_the_servers_own_backends(server: Installation, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.py").write_text("import ge_engine, ops; print(ge_engine.__file__, ops.__file__)")
    got = backend_directory(server, "3.10", tmp_path / "backends", SETTINGS, tmp_path / "own")
    assert not got.real
    assert str(got) == "the stand-in, which runs on the CPU"
    assert sorted(path.name for path in got.path.iterdir()) == ["npu_ge", "onnxruntime", "python"]
    assert (got.path / "python" / STUB).stat().st_mode & 0o111
    assert (got.path / "python" / "libtriton_python.so").exists()
    model = got.path / "npu_ge" / "model.py"
    told = subprocess.run([sys.executable, model], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert told.count(str(got.path / "npu_ge")) == 2
    assert CommandLine.beside(got.path / "npu_ge") == SETTINGS


@pytest.mark.parametrize("library", ["libtriton_npu_ge.so", "libnpu_ge.so"])
def test_the_real_npu_ge_stays_where_it_is(server: Installation, tmp_path: Path, library: str) -> None:
    (server.backends / "npu_ge").mkdir()
    (server.backends / "npu_ge" / library).touch()
    got = backend_directory(server, "3.10", tmp_path / "backends", SETTINGS)
    assert got.real
    assert str(got) == "the real library"
    assert got.path == server.backends
    assert not (tmp_path / "backends").exists()
