from __future__ import annotations

import pytest
from made_up_cann import MadeUp

from pipeline.doctor.backend import backend
from pipeline.doctor.check import Check
from pipeline.doctor.machine import Machine


@pytest.fixture(autouse=True)
def path(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine.python3.parent))


def serving(machine: MadeUp, *libraries: str) -> Check:
    machine.write("opt/tritonserver/bin/tritonserver")
    for name in libraries:
        machine.write(f"opt/tritonserver/backends/npu_ge/{name}")
    return backend(Machine(machine.root))


def test_without_a_server_there_is_nothing_to_find(machine: MadeUp) -> None:
    check = backend(Machine(machine.root))
    assert check.ok
    assert "no tritonserver here" in check.seen


def test_the_library_by_the_name_that_a_server_loads(machine: MadeUp) -> None:
    check = serving(machine, "libtriton_npu_ge.so", "libnpu_ge.so")
    assert check.ok
    assert check.seen == f"{machine.root}/opt/tritonserver/backends/npu_ge/libtriton_npu_ge.so"


def test_the_library_by_its_other_name_is_linked(machine: MadeUp) -> None:
    check = serving(machine, "libnpu_ge.so")
    folder = machine.root / "opt/tritonserver/backends/npu_ge"
    assert not check.ok
    assert check.fix == f"ln -s libnpu_ge.so {folder}/libtriton_npu_ge.so"


def test_a_server_without_the_backend(machine: MadeUp) -> None:
    check = serving(machine)
    assert not check.ok
    assert "serve with its image" in check.fix


def test_the_server_that_the_environment_names_is_the_one(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write("srv/triton/bin/tritonserver")
    machine.write("srv/triton/backends/npu_ge/libtriton_npu_ge.so")
    monkeypatch.setenv("TRITON_HOME_PATH", str(machine.root / "srv/triton"))
    assert serving(machine).seen == f"{machine.root}/srv/triton/backends/npu_ge/libtriton_npu_ge.so"
