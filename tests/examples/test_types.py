from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).resolve().parents[2]
WRONG_USES = Path(__file__).with_name("wrong_uses.py")


def mypy(*targets: Path, base: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run mypy as `make check` does. base: the folder that the targets import each other from."""
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, targets)]
    environment = {**os.environ, "MYPYPATH": str(base)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


FILES = {
    "yolo11": ("ask", "client", "detect", "graph"),
    "cnclip": ("ask", "client", "graph", "search", "train_mini_clip"),
}  # what else lies there is a reader's own


@pytest.mark.parametrize("example", FILES)
def test_an_example_passes_strict_type_checking(example: str) -> None:
    folder = ROOT / "examples" / example
    result = mypy(*(folder / f"{name}.py" for name in FILES[example]), base=folder)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_file_of_an_example_is_checked() -> None:
    command = ["git", "ls-files", "examples/**.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    assert sorted(listed.stdout.split()) == sorted(f"examples/{e}/{name}.py" for e in FILES for name in FILES[e])


def test_each_of_ten_wrong_uses_is_flagged_and_nothing_else_is() -> None:
    lines = WRONG_USES.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    assert len(wrong) == 10
    report = mypy(WRONG_USES).stdout
    flagged = {int(line) for line in re.findall(r"^[^:\n]*wrong_uses\.py:(\d+): error:", report, re.MULTILINE)}
    assert flagged == wrong, report
