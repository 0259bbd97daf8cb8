"""Pages: the blocks of a page, its commands, and a shell that holds them to what the page says they print.

A ```python block begins with a comment that names its file; it is written there. A ```console block holds commands
(`$ ...`) and what they print; `...` stands for any lines. A ```text block is a drawing. A command that ends with `&`
runs until `kill %1`: the next one waits until it has printed what the page says. `make` is what CI itself runs. What
was measured differs each time: where a command measures, any number is as good as another.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from weights import ROOT, laid_out

NEEDS_SERVER = re.compile(r"^\$ gepipe (serve(?!.* --print)|verify|bench \S+:\d)", re.MULTILINE)


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the content of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def file_of(block: str) -> str:
    """Where a Python block is written."""
    name = re.match(r"# (\S+\.py)\n", block)
    assert name is not None, f"which file is it?\n{block}"
    return name[1]


def programs(text: str) -> dict[str, str]:
    """The files of a page's Python blocks."""
    return {file_of(block): block for language, block in blocks(text) if language == "python"}


def without_servers(text: str) -> str:
    """A page up to the section that first needs a server."""
    found = NEEDS_SERVER.search(text)
    return text if found is None else text[: text.rindex("\n## ", 0, found.start())]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the examples and their weights in it, as the root of a checkout."""
    laid_out("examples/yolo11/weights/yolo11n.onnx")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "weights").symlink_to(ROOT / "tests" / "weights")
    return tmp_path


def follow(text: str, shell: Shell) -> None:
    """Do what a page says, and see that it happens."""
    found = blocks(text)
    assert found
    with shell:
        for language, block in found:
            if language == "python":
                shell.write(file_of(block), block)
                continue
            assert language in ("console", "text"), block
            for command, want in commands(block) if language == "console" else ():
                shell.run(command, want)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block, with what it prints."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def same(want: str, got: str) -> bool:
    """Whether two lines agree but for blanks and the last digits of numbers."""
    wanted, gotten = want.split(), got.split()
    return len(wanted) == len(gotten) and all(a == b or _near(a, b) for a, b in zip(wanted, gotten))


def _near(want: str, got: str) -> bool:
    try:
        a, b = float(want.strip("[],")), float(got.strip("[],"))
    except ValueError:
        return False
    return "." in want and abs(a - b) <= (0.005 if abs(a) <= 1 else 1.5)


def measured(text: str) -> str:
    """What a measurement prints, with N for numbers, however many in a row, and without its verdict."""
    words = re.sub(r"\b(un)?stable\b *$", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<!\S)(\d[\d.]*(x\d+|%)?[^\S\n]*)+(?!\S)", "N ", words)


def prints(want: str, got: str) -> bool:
    """Whether the lines are the wanted ones; `...` stands for any number of them."""
    lines = [line for line in got.splitlines() if line.strip()]
    wanted = [line for line in want.splitlines() if line.strip()]
    if "..." not in wanted:
        return len(lines) == len(wanted) and all(map(same, wanted, lines))
    gap = wanted.index("...")
    head, tail = wanted[:gap], wanted[gap + 1 :]
    if len(lines) < gap or not all(map(same, head, lines)):
        return False
    rest = lines[gap:]
    return any(prints("\n".join(tail), "\n".join(rest[skip:])) for skip in range(len(rest) + 1))


class Shell:
    """Runs the commands of a page, one after the other, in a folder.

    names: what stands in a page, and what it is here.
    """

    def __init__(self, folder: Path, names: Mapping[str, str] | None = None) -> None:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        self.environment = {**os.environ, "PATH": path, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
        self._options: dict[str, Any] = {
            "shell": True, "env": self.environment, "encoding": "utf-8", "stderr": subprocess.STDOUT
        }  # fmt: skip
        self.folder = folder
        self._names = dict(names or {})
        self._background: subprocess.Popen[str] | None = None

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *error: object) -> None:
        if self._background is not None:
            self._kill()

    def write(self, name: str, text: str) -> None:
        """A file that is there already is the example's own, which a reader has with its own line numbers."""
        file = self.folder / name
        if not file.exists():
            file.write_text(text, encoding="utf-8")

    def run(self, command: str, want: str) -> None:
        if command.startswith("make "):
            return
        if command == "kill %1":
            assert self._kill() == 0
            return
        for usual, here in self._names.items():
            command = command.replace(usual, here)
            want = want.replace(usual, here)
        if command.endswith(" &"):
            self._start(command.removesuffix(" &"), want)
            return
        moved = re.search(r"(?:^|&& )cd (\S+)$", command)
        got = subprocess.run(command, check=False, cwd=self.folder, stdout=subprocess.PIPE, **self._options).stdout
        if moved:
            self.folder /= moved[1]
        right = prints(want, got) or ("measuring" in want and prints(measured(want), measured(got)))
        assert right, f"$ {command}\n{got}"

    def _start(self, command: str, want: str) -> None:
        """Until it has printed what is wanted. Where a server found its port taken, that one stands for the page's."""
        process = self._background = subprocess.Popen(
            f"exec {command}", cwd=self.folder, stdout=subprocess.PIPE, **self._options
        )
        got = ""
        for line in process.stdout or ():
            address = re.match(r"(http|grpc) +(\S+)$", line)
            if address:
                usual = {"http": "127.0.0.1:8000", "grpc": "127.0.0.1:8001"}[address[1]]
                self._names[usual] = address[2]
                line = line.replace(address[2], usual)
            got += line
            if prints(want, got):
                return
        raise AssertionError(f"$ {command}\n{got}")

    def _kill(self) -> int:
        """End what runs in the background; its exit code."""
        process, self._background = self._background, None
        assert process is not None, "nothing runs in the background"
        process.terminate()
        process.communicate()
        return process.returncode
