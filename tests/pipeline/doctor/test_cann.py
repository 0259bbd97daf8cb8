from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_up_cann import MadeUp, source

from pipeline.doctor.cann import compiler, one_cann, toolkit
from pipeline.doctor.machine import Machine


def test_no_cann_anywhere(tmp_path: Path, machine: MadeUp) -> None:
    check = toolkit(Machine(tmp_path / "empty"))
    assert (check.ok, check.seen) == (False, "none; the environment names none")
    assert "install the CANN toolkit" in check.fix


def test_one_that_is_not_in_the_environment(machine: MadeUp) -> None:
    check = toolkit(Machine(machine.root))
    assert (check.ok, check.seen) == (False, f"{machine.ascend}/cann; the environment names none")
    assert check.fix == f"source {machine.ascend}/cann/set_env.sh"
    assert compiler(Machine(machine.root)).fix == check.fix


def test_the_file_to_source_may_lie_beside_the_toolkit(machine: MadeUp) -> None:
    (machine.home / "set_env.sh").rename(machine.ascend / "set_env.sh")
    assert toolkit(Machine(machine.root)).fix == f"source {machine.ascend}/set_env.sh"


def test_a_variable_that_names_nothing(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", "/nowhere")
    check = toolkit(Machine(machine.root))
    assert (check.ok, check.seen) == (False, "ASCEND_HOME_PATH is /nowhere, which is not there")


@pytest.mark.parametrize(("version", "ok"), [("7.0.1", False), ("8.0.RC1", True), ("9.1.0", True), ("alpha", True)])
def test_a_toolkit_that_is_too_old(machine: MadeUp, monkeypatch: pytest.MonkeyPatch, version: str, ok: bool) -> None:
    source(machine.home, monkeypatch)
    (machine.home / "x86_64-linux/ascend_toolkit_install.info").write_text(f"version={version}\n")
    check = toolkit(Machine(machine.root))
    assert (check.ok, check.fix) == (ok, "install CANN 8.0 or later")


def test_parts_of_two_installations_are_named(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    source(machine.home, monkeypatch)
    assert one_cann(Machine(machine.root)).ok
    other = machine.ascend / "cann-8.0.0/opp"
    other.mkdir(parents=True)
    monkeypatch.setenv("ASCEND_OPP_PATH", str(other))
    check = one_cann(Machine(machine.root))
    assert (check.ok, check.seen) == (False, f"of more than one CANN: ASCEND_OPP_PATH is {other}")
    assert check.fix == f"in a new shell, once: source {machine.home}/set_env.sh"


def test_two_toolkits_in_one_environment(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    source(machine.home, monkeypatch)
    (machine.ascend / "cann-9.0.0").mkdir()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(machine.ascend / "cann-9.0.0"))
    check = one_cann(Machine(machine.root))
    assert not check.ok
    assert f"ASCEND_TOOLKIT_HOME is {machine.home}, ASCEND_HOME_PATH is {machine.ascend}/cann-9.0.0" in check.seen


def test_a_folder_of_links_into_a_version_is_that_version(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    latest = machine.ascend / "latest"
    latest.mkdir()
    for name in ("opp", "bin"):
        (latest / name).symlink_to(machine.home / name)
    source(latest, monkeypatch)
    assert one_cann(Machine(machine.root)).ok


def test_operators_that_the_environment_does_not_name(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    source(machine.home, monkeypatch)
    monkeypatch.delenv("ASCEND_OPP_PATH")
    assert one_cann(Machine(machine.root)).seen == "ASCEND_OPP_PATH, the operators, is not set"


def test_atc_is_found_by_path(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    source(machine.home, monkeypatch)
    check = compiler(Machine(machine.root))
    assert (check.ok, check.seen) == (True, os.path.join(machine.home, "bin/atc"))
