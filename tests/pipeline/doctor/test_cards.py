from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from made_up_cann import MadeUp

from pipeline.doctor.cards import device_files, driver, permissions
from pipeline.doctor.machine import Machine

NOBODY = 65534


@contextmanager
def somebody_else(folder: Path) -> Iterator[None]:
    """Root may do everything, so it becomes another user, who may enter the folder."""
    if os.geteuid():
        yield
        return
    opened = [above for above in (folder, *folder.parents) if not above.stat().st_mode & 1]
    modes = {above: above.stat().st_mode for above in opened}
    for above in opened:
        above.chmod(modes[above] | 0o055)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for above, mode in modes.items():
            above.chmod(mode)


def test_files_that_this_user_may_not_use_are_named_with_their_group(machine: MadeUp) -> None:
    for path in (machine.root / "dev").iterdir():
        path.chmod(0o666)
    closed = machine.root / "dev/davinci1"
    closed.chmod(0o000)
    with somebody_else(closed.parent):
        check = permissions(Machine(machine.root))
    assert not check.ok
    assert check.seen == "this user may not read and write /dev/davinci1"
    group = closed.group() if closed.group() != "root" else "HwHiAiUser"
    assert f"usermod -aG {group} $USER" in check.fix


def test_files_that_this_user_may_use_pass(machine: MadeUp) -> None:
    assert permissions(Machine(machine.root)).ok


def test_one_of_the_three_other_files_is_missing(machine: MadeUp) -> None:
    (machine.root / "dev/hisi_hdc").unlink()
    check = device_files(Machine(machine.root))
    assert (check.ok, check.seen) == (False, "no /dev/hisi_hdc")


def test_in_a_container_the_remedy_is_how_to_start_it(machine: MadeUp) -> None:
    machine.write(".dockerenv")
    (machine.root / "dev/hisi_hdc").unlink()
    assert device_files(Machine(machine.root)).fix.startswith("start the container with the cards")


@pytest.mark.parametrize("text", ["", "version unknown\n"])
def test_a_driver_that_does_not_say_its_version(machine: MadeUp, text: str) -> None:
    machine.write("usr/local/Ascend/driver/version.info", text)
    assert not driver(Machine(machine.root)).ok
