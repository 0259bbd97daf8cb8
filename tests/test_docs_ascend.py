"""docs/ascend.md is followed on a machine that is made up: every command of it runs, against the simulators.

Where it says /usr/local/Ascend there are made-up files, and the server that it verifies is Triton on the CPU, with the
stand-in for npu_ge.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_cann import MadeUp
from made_up_cann import machine as machine
from pages import Shell, follow
from pages import copy as copy

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "ascend.md").read_text(encoding="utf-8")


class AscendShell(Shell):
    """A shell on the made-up machine."""

    def __init__(self, folder: Path, machine: MadeUp) -> None:
        super().__init__(folder, {"/usr/local/Ascend": str(machine.ascend)})
        self._root = machine.root
        self.environment["PATH"] = os.pathsep.join((str(machine.python3.parent), self.environment["PATH"]))

    def run(self, command: str, want: str) -> None:
        if command.startswith("source "):
            self._source(command.replace("/usr/local/Ascend", str(self._root / "usr/local/Ascend")))
        else:
            for line in recipe("test-npu") if command == "make test-npu" else [command]:
                super().run(line.replace("gepipe doctor", f"gepipe doctor --root {self._root}"), want)

    def _source(self, command: str) -> None:
        said = subprocess.run(
            ["bash", "-c", f"{command} && env -0"], env=self.environment, capture_output=True, text=True, check=True
        )
        self.environment.update(line.split("=", 1) for line in said.stdout.split("\0") if line)


class ServedShell(Shell):
    """A shell beside a server, which a page takes for granted."""

    def run(self, command: str, want: str) -> None:
        if command.startswith("gepipe verify --url"):
            super().run("gepipe serve models &", "...\nREADY yolo11 1\n...\nCtrl-C stops it\n")
        super().run(command, want)


def recipe(target: str) -> list[str]:
    """What make runs for it."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert found is not None
    bin_ = Path(sys.executable).parent
    lines = [line.strip() for line in found[1].splitlines()]
    lines = [line.replace("$(BIN)", str(bin_)).replace("$(ARGS)", "") for line in lines]
    return [f"cd {shlex.quote(str(ROOT))} && {line}" for line in lines]


@pytest.mark.weights
@pytest.mark.timeout(600)
def test_a_card_is_set_up_and_run(copy: Path, machine: MadeUp) -> None:
    follow(PAGE.partition("\n## Serve\n")[0], AscendShell(copy, machine))


@pytest.mark.weights
@pytest.mark.triton
def test_an_export_is_served_and_verified(copy: Path) -> None:
    follow(PAGE.partition("\n## Serve\n")[2], ServedShell(copy))


def test_both_readme_files_link_to_it() -> None:
    for name, page in (("README.md", "docs/ascend.md"), ("README.zh-CN.md", "docs/ascend.zh.md")):
        assert f"({page})" in (ROOT / name).read_text(encoding="utf-8")
