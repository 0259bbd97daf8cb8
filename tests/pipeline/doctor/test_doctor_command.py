from __future__ import annotations

import json

from command_line import gepipe


def test_doctor_finds_this_installation_sound() -> None:
    result = gepipe("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert {"python", "numpy", "opencv", "ops", "device cpu", "device null"} <= set(checks)
    assert checks["device cpu"]["seen"] == "2 + 2 = 4"
    assert result.exit_code == (0 if all(check["ok"] for check in checks.values()) else 1)
    assert "2 + 2 = 4" in gepipe("doctor").stdout
