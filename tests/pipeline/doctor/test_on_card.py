from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from acl_sim import World
from made_up_cann import MadeUp

from pipeline.doctor.machine import Machine
from pipeline.doctor.on_card import chip, examine_cards, op_package, pyacl

Install = Callable[..., World]


def test_the_driver_s_library_is_not_to_be_found(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "acl", raising=False)
    words = "libascend_hal.so: cannot open shared object file: No such file or directory"
    machine.write("broken/acl.py", f"raise ImportError({words!r})\n")
    monkeypatch.syspath_prepend(str(machine.root / "broken"))
    library, check = pyacl(Machine(machine.root))
    assert library is None
    assert words in check.seen
    assert check.fix == (
        "put the driver's libraries on LD_LIBRARY_PATH: "
        f"{machine.ascend}/driver/lib64/driver:{machine.ascend}/driver/lib64/common"
    )


def test_where_the_environment_names_no_cann_the_remedy_is_to_source_it(
    machine: MadeUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "acl", None)
    _, check = pyacl(Machine(machine.root))
    assert "cannot be imported" in check.seen
    assert check.fix == f"source {machine.ascend}/cann/set_env.sh"


def test_another_package_of_that_name_is_not_pyacl(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "acl", raising=False)
    machine.write("other/acl.py")
    monkeypatch.syspath_prepend(str(machine.root / "other"))
    _, check = pyacl(Machine(machine.root))
    assert not check.ok
    assert "is not pyACL" in check.seen
    del sys.modules["acl"]


def test_cards_that_the_environment_hides(sound: Install, machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "7")
    check = chip(Machine(machine.root), 0, "Ascend910B4")
    assert (check.ok, check.seen) == (False, "0 x Ascend910B4, with ASCEND_RT_VISIBLE_DEVICES=7")
    assert check.fix == "unset ASCEND_RT_VISIBLE_DEVICES, or name cards that are there"


def test_a_call_that_fails_ends_what_is_asked_of_the_cards(sound: Install, machine: MadeUp) -> None:
    world = sound()
    library, _ = pyacl(Machine(machine.root))
    assert library is not None
    world.fail("rt.get_device_count", 507899)
    (check,) = examine_cards(Machine(machine.root), library)
    assert "acl.rt.get_device_count failed with 507899: the driver failed" in check.seen


def test_operators_are_looked_for_by_what_the_platform_file_calls_the_chip(sound: Install, machine: MadeUp) -> None:
    sound()
    assert op_package(Machine(machine.root), "Ascend910B4").seen == f"for Ascend910B4 in {machine.home}/opp"
    ini = machine.home.relative_to(machine.root) / "x86_64-linux/data/platform_config/Ascend910_9362.ini"
    machine.write(str(ini), "[version]\nShort_SoC_version=Ascend910_93\n")
    check = op_package(Machine(machine.root), "Ascend910_9362")
    assert check.seen == f"none for Ascend910_9362 (ascend910_93) in {machine.home}/opp"
    assert "install CANN's operators for 910_93" in check.fix


def test_a_pyacl_that_raises_ends_one_check_and_not_the_list(
    sound: Install, machine: MadeUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound()
    library, _ = pyacl(Machine(machine.root))
    assert library is not None
    monkeypatch.setattr(sys.modules["acl"].rt, "get_mem_info", lambda: None)
    found = {check.name: check for check in examine_cards(Machine(machine.root), library)}
    assert "acl.rt.get_mem_info raises TypeError" in found["memory npu:0"].seen
    assert found["device npu:0"].ok
