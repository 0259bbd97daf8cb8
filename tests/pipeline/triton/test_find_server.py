from __future__ import annotations

from pathlib import Path

import pytest

from ops.errors import ServerError
from pipeline.triton.find_server import STUB, Installation, find_server
from pipeline.triton.releases import TARGETS


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRITON_HOME_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def program(home: Path) -> Path:
    path = home / "bin" / "tritonserver"
    path.parent.mkdir(parents=True)
    path.touch(0o755)
    return path


def test_a_named_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = program(tmp_path / "named")
    program(tmp_path)
    monkeypatch.setenv("TRITON_HOME_PATH", str(tmp_path / "named"))
    assert find_server("24.02") == Installation(tmp_path / "named", "TRITON_HOME_PATH")
    assert find_server("24.02").program == named


def test_a_named_home_without_a_server_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_HOME_PATH", str(tmp_path))
    with pytest.raises(ServerError, match=r"there is no bin/tritonserver in it\nfix: name the folder"):
        find_server("24.02")


def test_a_link_in_path_leads_to_the_server(tmp_path: Path) -> None:
    program(tmp_path / "server")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tritonserver").symlink_to(tmp_path / "server" / "bin" / "tritonserver")
    assert find_server("24.02") == Installation(tmp_path / "server", "PATH")


def test_a_release_without_a_wheel_is_said() -> None:
    with pytest.raises(ServerError, match=r"no wheel of Triton 23.01\nfix: use one of 24.02, 24.10"):
        find_server("23.01")


@pytest.mark.triton
@pytest.mark.parametrize("target", TARGETS)
def test_the_wheel_of_a_release_holds_a_server(target: str) -> None:
    found = find_server(target)
    assert found.found.startswith("nvidia-pytriton==")
    assert found.program.exists()
    assert {"3.10", "3.11"} <= set(found.stubs())
    assert found.libraries[0].is_dir()


def test_stubs_are_told_by_the_library_that_they_want(tmp_path: Path) -> None:
    wants = {
        f"python_backend_stubs/3.9/{STUB}": b"..libpython3.9.so.1.0..",
        f"python_backend_stubs/3.11/{STUB}": b"..libpython3.11.so.1.0..",
        f"python_backend_stubs/odd/{STUB}": b"..libpython3-419a.13.so.1.0..",
        f"backends/python/{STUB}": b"..libpython3.10.so.1.0..",
    }
    for name, content in wants.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(content)
    assert list(Installation(tmp_path, "").stubs()) == ["3.11", "3.10"]
