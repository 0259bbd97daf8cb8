from __future__ import annotations

import sys
from pathlib import Path

import pytest
from made_up_cann import MadeUp

from pipeline.doctor.machine import Machine


def test_the_parts_are_found_below_the_root(machine: MadeUp) -> None:
    machine.write("dev/davinci10")
    found = Machine(machine.root)
    assert [path.name for path in found.cards] == ["davinci0", "davinci1", "davinci10"]
    assert found.driver == machine.ascend / "driver"
    assert found.homes == [machine.ascend / "cann"]
    assert found.has_npu()


def test_the_driver_is_where_its_installer_noted(machine: MadeUp) -> None:
    machine.write("etc/ascend_install.info", "Driver_Install_Path_Param=/opt/huawei\n")
    assert Machine(machine.root).driver == machine.root / "opt/huawei/driver"


def test_a_network_card_of_the_same_vendor_is_no_npu(tmp_path: Path) -> None:
    card = tmp_path / "sys/bus/pci/devices/0000:02:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x19e5\n")
    (card / "class").write_text("0x020000\n")
    assert Machine(tmp_path).on_bus == 0
    assert not Machine(tmp_path).has_npu()


def test_a_toolkit_that_the_environment_names_is_the_one(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(machine.home))
    assert Machine(machine.root).homes == [machine.home]


def test_containers_are_known_by_their_notes(machine: MadeUp) -> None:
    assert not Machine(machine.root).in_container
    machine.write(".dockerenv")
    assert Machine(machine.root).in_container


def test_pyacl_alone_speaks_of_an_npu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acl.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "acl", raising=False)
    assert Machine(tmp_path / "root").has_npu()
