from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import command_line
import pytest
from acl_sim import World
from made_up_cann import MadeUp

from pipeline.doctor.check import Check
from pipeline.doctor.machine import Machine
from pipeline.doctor.npu import examine_npu

Install = Callable[..., World]
WHOLE = [
    "cards", "permissions", "driver", "CANN", "environment", "atc", "atc's Python", "pyACL", "chip", "operators",
    "memory npu:0", "memory npu:1", "device npu:0", "sizes npu:0", "batches at once npu:0", "sizes npu:0,1",
    "batches at once npu:0,1", "waiting npu:0", "npu_ge",
]  # fmt: skip


def checks(root: Path) -> dict[str, Check]:
    return {check.name: check for check in examine_npu(Machine(root))}


def test_a_sound_machine_passes_in_everything(sound: Install, machine: MadeUp) -> None:
    world = sound()
    found = checks(machine.root)
    assert [str(check) for check in found.values() if not check.ok] == []
    assert list(found) == WHOLE
    assert found["cards"].seen == "/dev/davinci0,1"
    assert found["driver"].seen == f"25.2.0 in {machine.ascend}/driver"
    assert found["CANN"].seen == f"8.5.0 in {machine.home}"
    assert found["chip"].seen == "2 x Ascend910B4"
    assert found["memory npu:1"].seen == "2.0 of 2.0 GiB free"
    assert found["device npu:0"].seen == "2 + 2 = 4"
    assert not world.leaks()


def test_where_there_is_no_npu_one_line_says_so_and_nothing_has_failed(tmp_path: Path) -> None:
    (check,) = examine_npu(Machine(tmp_path))
    assert check.ok
    assert check.seen.startswith("none here")


class Failure(NamedTuple):
    """One thing that is wrong; what the check of that name says then, and what to do."""

    break_it: Callable[[MadeUp, World, pytest.MonkeyPatch], object]
    name: str
    seen: str
    fix: str


def packages(numpy: str, *missing: str) -> Callable[[MadeUp, World, pytest.MonkeyPatch], object]:
    def change(machine: MadeUp, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        machine.package("numpy", numpy)
        for name in missing:
            (machine.root / f"usr/lib/python3/{name}-0.dist-info/METADATA").unlink()

    return change


def answering(python: str) -> Callable[[MadeUp, World, pytest.MonkeyPatch], object]:
    """A python3 of another version, with all its packages."""

    def change(machine: MadeUp, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        (machine.home / "x86_64-linux/ascend_toolkit_install.info").write_text("version=8.1.RC1\n")
        names = ("attrs", "cffi", "decorator", "protobuf", "psutil", "pyyaml", "scipy", "sympy")
        said = json.dumps([python, {"numpy": "1.24.0", **dict.fromkeys(names, "1.0")}])
        machine.python3.write_text(f"#!/bin/sh\ntest \"$1\" != -c || {{ echo '{said}'; exit; }}\n"
                                   f'exec {sys.executable} "$@"\n')  # fmt: skip

    return change


FAILURES = {
    # What users of this stack meet, as their reports and CANN's own pages tell it.
    "memory is taken by somebody else": Failure(
        lambda machine, world, patch: world.memory.budgets.__setitem__(1, 1 << 29),
        "memory npu:1", "0.5 of 0.5 GiB free", "npu-smi info names the processes",
    ),
    "a model too large, or a fault, fails on the card": Failure(
        lambda machine, world, patch: world.fail("device.run", 507011), "device npu:0", "507011", "smaller gear"
    ),
    "a vector core fails": Failure(
        lambda machine, world, patch: world.fail("device.run", 507035), "device npu:0", "a vector core failed", "plog"
    ),
    "a model of another CANN's operators": Failure(
        lambda machine, world, patch: patch.setenv(
            "ATC_SIM", json.dumps({"fail": "E19999: opp version of the model does not match"})
        ),
        "device npu:0", "E19999", "the op package does not fit this CANN",
    ),
    "an operator that CANN does not have": Failure(
        lambda machine, world, patch: patch.setenv(
            "ATC_SIM", json.dumps({"fail": "E16002: No ONNX parser is registered for optype ai.onnx::13::Add"})
        ),
        "device npu:0", "E16002", "another opset, up to 18",
    ),
    "no operators for the chip": Failure(
        lambda machine, world, patch: next(machine.config.glob("*.json")).unlink(),
        "operators", "none for Ascend910B4 (ascend910b)", "install CANN's operators for 910b",
    ),
    "a chip that this CANN does not know": Failure(
        lambda machine, world, patch: setattr(world, "soc", "Ascend310P3"),
        "operators", "no platform_config/Ascend310P3.ini", "install the CANN toolkit",
    ),
    "numpy 2 for a CANN that cannot use it": Failure(
        packages("3.0.0" if sys.version_info < (3, 13) else "1.26.4"),
        "atc's Python", "which takes numpy", "python3 -m pip install 'numpy",
    ),
    "packages that CANN's operators import are missing": Failure(
        packages("1.26.4", "decorator", "attrs", "sympy"),
        "atc's Python", "not installed: attrs, decorator, sympy", "python3 -m pip install attrs decorator sympy",
    ),
    "a Python that is too new for CANN 8.1": Failure(
        answering("3.11.2"), "atc's Python", "3.11.2, numpy 1.24.0, for CANN 8.1.RC1, which takes 3.7 to 3.10",
        "put a Python up to 3.10 first on PATH",
    ),
    "atc is not on PATH": Failure(
        lambda machine, world, patch: patch.setenv("PATH", "/usr/bin"), "atc", "not on PATH", "source "
    ),
    "no cards in the container": Failure(
        lambda machine, world, patch: [path.unlink() for path in machine.root.glob("dev/*")],
        "cards", "no /dev/davinci0, /dev/davinci_manager", "gepipe serve REPOSITORY --print ascend",
    ),
    "the driver is not mounted": Failure(
        lambda machine, world, patch: (machine.ascend / "driver/version.info").unlink(),
        "driver", "that says a version", "--volume=",
    ),
    "the driver has no library": Failure(
        lambda machine, world, patch: (machine.ascend / "driver/lib64/driver/libascend_hal.so").unlink(),
        "driver", "25.2.0, but no libascend_hal.so", "install the driver",
    ),
    "ACL does not start": Failure(
        lambda machine, world, patch: world.fail("init", 500000), "pyACL", "acl.init failed with 500000", "npu-smi info"
    ),
    "CANN sees no card": Failure(
        lambda machine, world, patch: setattr(world, "devices", 0), "chip", "0 x Ascend910B4", "npu-smi info"
    ),
    "a card that cannot be opened": Failure(
        lambda machine, world, patch: world.fail("rt.create_context", 507033),
        "memory npu:0", "acl.rt.create_context failed with 507033", "npu-smi info",
    ),
}  # fmt: skip


@pytest.mark.parametrize("failure", list(FAILURES))
def test_a_failure_is_named_with_what_to_do(
    sound: Install, machine: MadeUp, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    break_it, name, seen, fix = FAILURES[failure]
    break_it(machine, sound(), monkeypatch)
    check = checks(machine.root)[name]
    assert not check.ok
    assert seen in check.seen
    assert fix in check.fix


def test_torch_in_the_same_process_is_no_failure(sound: Install, machine: MadeUp) -> None:
    acl = sound(shared=True).module()
    acl.rt.set_device(0)  # as torch_npu does
    found = checks(machine.root)
    acl.rt.reset_device(0)
    assert [str(check) for check in found.values() if not check.ok] == []
    assert found["pyACL"].seen == "imported and initialised, by another library in this process"


def test_a_card_without_a_driver_is_told_apart_from_no_card(tmp_path: Path) -> None:
    card = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x19e5\n")
    (card / "class").write_text("0x120000\n")
    found = checks(tmp_path)
    assert found["cards"].seen.endswith("; the PCI bus has 1")
    assert "install the driver" in found["driver"].fix


def test_the_command_in_a_process_of_its_own_prints_a_line_for_each(machine: MadeUp) -> None:
    code = "from pipeline.cli import main; main()"
    shell = f'source {machine.ascend}/cann/set_env.sh && exec "$@"'
    words = [sys.executable, "-c", code, "doctor", "--root", str(machine.root)]
    got = subprocess.run(["bash", "-c", shell, "bash", *words], capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stdout + got.stderr
    lines = got.stdout.splitlines()
    assert all(line.startswith("PASS  ") for line in lines)
    assert "PASS  device npu:0: 2 + 2 = 4" in lines


def test_the_command_says_what_to_do_and_fails(machine: MadeUp) -> None:
    result = command_line.gepipe("doctor", "--root", str(machine.root), PATH=os.environ["PATH"])
    assert result.exit_code == 1
    assert f"FAIL  CANN: {machine.ascend}/cann; the environment names none\n" in result.stdout
    assert f"      fix: source {machine.ascend}/cann/set_env.sh\n" in result.stdout
    found = json.loads(command_line.gepipe("doctor", "--json", "--root", str(machine.root)).stdout)["checks"]
    assert {"name": "cards", "ok": True, "seen": "/dev/davinci0,1", "fix": ""} in found
