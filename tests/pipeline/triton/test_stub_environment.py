from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ops.errors import ServerError
from pipeline.triton.find_server import STUB, Installation, find_server
from pipeline.triton.stub_environment import StubEnvironment, stub_environment

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def server(folder: Path, *releases: str) -> Installation:
    """One with stubs of those Python releases."""
    for release in releases:
        stub = folder / "server" / "python_backend_stubs" / release / STUB
        stub.parent.mkdir(parents=True)
        stub.write_bytes(f"libpython{release}.so".encode())
    return Installation(folder / "server", "")


def python(folder: Path, **told: object) -> Path:
    """An environment whose Python says that of itself."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "python3"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(told)}'\n")
    program.chmod(0o755)
    return folder


def test_a_server_without_stubs_is_said(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="cannot run Python models"):
        stub_environment(server(tmp_path), None)


def test_a_release_that_is_not_here_is_said(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"there is no Python 3.98 or 3.97 here"):
        stub_environment(server(tmp_path, "3.97", "3.98"), None)


def test_a_given_folder_without_a_python_is_said(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"bin/python3 does not run"):
        stub_environment(server(tmp_path, HERE), tmp_path)


def test_a_given_environment_needs_numpy(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    with pytest.raises(ServerError, match=r"empty has no numpy; the server's stubs need numpy 1"):
        stub_environment(server(tmp_path, HERE), tmp_path / "empty")


def test_numpy_2_is_said(tmp_path: Path) -> None:
    given = python(tmp_path / "new", release="3.10", library=["libpython3.10.so.1.0"], numpy="2.4.6")
    with pytest.raises(ServerError, match=r"new has numpy 2.4.6; .* need numpy 1\nfix: install 'numpy<2'"):
        stub_environment(server(tmp_path, "3.10"), given)


def test_a_given_environment_of_another_release_is_said(tmp_path: Path) -> None:
    given = python(tmp_path / "other", release="3.12", library=[], numpy="1.26.4")
    with pytest.raises(ServerError, match=r"other has Python 3.12, for which .* no stub\nfix: give one of Python 3.10"):
        stub_environment(server(tmp_path, "3.10"), given)


def test_a_missing_library_is_said(tmp_path: Path) -> None:
    given = python(tmp_path / "static", release="3.10", library=[], numpy="1.26.4")
    with pytest.raises(ServerError, match=r"no libpython3.10.so.1.0\nfix: install it: apt-get install libpython3.10"):
        stub_environment(server(tmp_path, "3.10"), given)


def test_a_missing_library_of_the_only_python_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = python(tmp_path / "static", release="3.98", library=[], numpy=None)
    (given / "bin" / "python3.98").symlink_to("python3")
    monkeypatch.setenv("PATH", f"{given / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ServerError, match=r"there is no libpython3.98.so.1.0 on this machine"):
        stub_environment(server(tmp_path, "3.98"), None)


def test_the_server_is_told_of_the_environment_and_of_one_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "x")
    monkeypatch.setenv("LD_LIBRARY_PATH", "before")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1")
    library = tmp_path / "libs" / "libpython3.10.so.1.0"
    environment = StubEnvironment(tmp_path / "env", "3.10", library)
    got = environment.variables(tmp_path / "lib", [tmp_path / "server.libs"])
    assert "PYTHONPATH" not in got
    assert got["PATH"].split(os.pathsep)[0] == str(tmp_path / "env" / "bin")
    assert got["LD_LIBRARY_PATH"].split(os.pathsep) == [str(tmp_path / "lib"), str(tmp_path / "server.libs"), "before"]
    assert [path.readlink() for path in (tmp_path / "lib").iterdir()] == [library]
    assert got["MALLOC_MMAP_MAX_"] == "0"
    assert got["MALLOC_TRIM_THRESHOLD_"] == "1"  # what the user has set stays


@pytest.mark.triton
def test_the_environment_that_is_made_has_what_host_stages_and_the_stand_in_need() -> None:
    environment = stub_environment(find_server("24.02"))
    code = "import cv2, numpy, onnxruntime, sys; print(numpy.__version__, sys.prefix)"
    told = subprocess.run([environment.bin / "python3", "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith("1.")
    assert told.split()[1] == str(environment.prefix)
    assert stub_environment(find_server("24.10")) == environment
    assert stub_environment(find_server("24.02"), environment.prefix) == environment
