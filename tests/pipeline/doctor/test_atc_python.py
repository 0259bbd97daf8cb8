from __future__ import annotations

import pytest
from made_up_cann import MadeUp

from pipeline.doctor.atc_python import NEEDED, atc_python, verdict
from pipeline.doctor.machine import Machine

ALL: dict[str, str | None] = dict.fromkeys(NEEDED, "1.0")


# What each CANN's installation guide says of Python and numpy, and for 8.1 what its users met.
@pytest.mark.parametrize(
    ("cann", "python", "numpy", "said"),
    [
        ("8.0.RC2", "3.10.12", "1.24.4", ""),
        ("8.1.RC1", "3.11.2", "1.24.4", "which takes 3.7 to 3.10"),
        ("8.1.RC1", "3.10.12", "2.0.0", "which takes numpy<2"),
        ("8.3.RC1", "3.11.4", "1.26.4", ""),
        ("8.3.RC1", "3.12.0", "1.26.4", "which takes 3.7 to 3.11"),
        ("8.5.0", "3.12.1", "1.26.4", ""),
        ("8.5.0", "3.12.1", "2.2.0", "which takes numpy<2"),
        ("8.5.0", "3.13.0", "2.1.3", ""),
        ("8.5.0", "3.13.0", "1.26.4", "which takes numpy>=2.1"),
        ("8.5.0", "3.14.0", "2.1.3", "which takes 3.7 to 3.13"),
        ("9.0.0", "3.11.9", "2.2.0", ""),
        ("9.1.0", "3.14.0", "2.4.0", ""),
        ("9.1.0", "3.6.9", "1.19.2", "which takes 3.7 to 3.14"),
        ("unknown, /opt/atc of 12", "3.14.0", "2.4.0", ""),
    ],
)
def test_python_and_numpy_are_what_the_cann_takes(cann: str, python: str, numpy: str, said: str) -> None:
    check = verdict("/usr/bin/python3", python, {**ALL, "numpy": numpy}, cann)
    assert check.ok == (not said)
    assert said in check.seen
    assert f"/usr/bin/python3 is {python}, numpy {numpy}, for CANN {cann}" in check.seen


def test_the_remedy_is_for_the_python_that_atc_runs() -> None:
    check = verdict("/usr/bin/python3", "3.10.1", {**ALL, "numpy": "2.0.0"}, "8.3.RC1")
    assert check.fix == "/usr/bin/python3 -m pip install 'numpy<2'"
    check = verdict("/usr/bin/python3", "3.10.1", {**ALL, "numpy": None, "attrs": None}, "8.3.RC1")
    assert check.fix == "/usr/bin/python3 -m pip install attrs numpy"


def test_a_python_that_does_not_run(machine: MadeUp) -> None:
    machine.python3.write_text("#!/bin/sh\nexit 3\n")
    check = atc_python(Machine(machine.root))
    assert not check.ok
    assert f"{machine.python3} does not run: " in check.seen


def test_a_python_that_is_not_there(machine: MadeUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine.home / "bin"))
    assert atc_python(Machine(machine.root)).seen == "no python3 on PATH"
