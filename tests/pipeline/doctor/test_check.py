from __future__ import annotations

from pipeline.doctor.check import Check


def test_a_check_is_a_line_and_what_to_do_another() -> None:
    assert str(Check("atc", True, "/usr/bin/atc", "not needed")) == "PASS  atc: /usr/bin/atc"
    assert str(Check("atc", False, "not on PATH", "source set_env.sh")) == (
        "FAIL  atc: not on PATH\n      fix: source set_env.sh"
    )
