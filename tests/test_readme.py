"""Every block of a README runs, and prints what the README says.

A ```python block begins with a comment that names its file; it is written there. A ```console block holds commands
(`$ ...`) and what they print; `...` stands for any lines. Commands run in a copy of the examples, in order; `make` is
what CI itself runs. A command that ends with `&` runs until the page ends: the next one waits until it has printed what
the page says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "examples/yolo11/README.md", "examples/cnclip/README.md"]


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the content of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


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


def prints(want: str, got: str) -> bool:
    """Whether the lines are the wanted ones; `...` stands for any number of them."""
    lines = [line for line in got.splitlines() if line.strip()]
    wanted = [line for line in want.splitlines() if line.strip()]
    if "..." not in wanted:
        return len(lines) == len(wanted) and all(map(same, wanted, lines))
    gap = wanted.index("...")
    head, tail = wanted[:gap], wanted[gap + 1 :]
    rest = lines[gap:]
    return all(map(same, head, lines)) and any(
        prints("\n".join(tail), "\n".join(rest[skip:])) for skip in range(len(rest) + 1)
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    if not (ROOT / "examples" / "yolo11" / "weights" / "yolo11n.onnx").exists():
        pytest.skip("no weights: run make setup")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    return tmp_path


class Shell:
    """Runs the commands of a page, one after the other, in a folder."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, "PATH": path, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
        self._options: dict[str, Any] = {
            "shell": True, "cwd": folder, "env": environment, "encoding": "utf-8", "stderr": subprocess.STDOUT
        }  # fmt: skip
        self._ports: dict[str, str] = {}
        self._background = ExitStack()

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *error: object) -> None:
        self._background.close()

    def run(self, command: str, want: str) -> None:
        for usual, port in self._ports.items():
            command = command.replace(usual, port)
        if command.endswith(" &"):
            self._start(command.removesuffix(" &"), want)
            return
        got = subprocess.run(command, check=False, stdout=subprocess.PIPE, **self._options).stdout
        assert prints(want, got), f"$ {command}\n{got}"

    def _start(self, command: str, want: str) -> None:
        """Until it has printed what is wanted. Where a server found its port taken, that one stands for the page's."""
        process = subprocess.Popen(f"exec {command}", stdout=subprocess.PIPE, **self._options)
        self._background.callback(process.communicate)
        self._background.callback(process.terminate)
        got = ""
        for line in process.stdout or ():
            address = re.match(r"(http|grpc) +(\S+)$", line)
            if address:
                usual = {"http": "127.0.0.1:8000", "grpc": "127.0.0.1:8001"}[address[1]]
                self._ports[usual] = address[2]
                line = line.replace(address[2], usual)
            got += line
            if prints(want, got):
                return
        raise AssertionError(f"$ {command}\n{got}")


@pytest.mark.weights
@pytest.mark.triton
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_it_says(page: str, copy: Path) -> None:
    found = blocks((ROOT / page).read_text(encoding="utf-8"))
    assert found
    with Shell(copy) as shell:
        for language, block in found:
            if language == "python":
                name = re.match(r"# (\S+\.py)\n", block)
                assert name is not None, f"which file is it?\n{block}"
                (copy / name[1]).write_text(block, encoding="utf-8")
                continue
            assert language == "console", block
            for command, want in commands(block):
                if not command.startswith("make "):
                    shell.run(command, want)


def test_the_pipeline_of_the_readme_is_that_of_the_example() -> None:
    block = next(
        block for language, block in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if language == "python"
    )
    example = (ROOT / "examples" / "yolo11" / "graph.py").read_text(encoding="utf-8")
    assert block.partition("\n")[2] == example.partition("\n\n")[2]


def test_the_chinese_readme_has_the_blocks_of_the_english_one_and_each_links_to_the_other() -> None:
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
    assert blocks(english)
    assert blocks(chinese) == blocks(english)
    assert english.count("```") == chinese.count("```")
    assert "\n[中文](README.zh-CN.md)\n" in english
    assert "\n[English](README.md)\n" in chinese


def test_a_command_must_print_the_lines_that_the_page_shows() -> None:
    assert prints("a 0.939\n", "a   0.941\n\n")
    assert not prints("a 0.939\n", "a 0.95\n")
    assert not prints("a 12\n", "a 13\n")
    assert not prints("a\n", "a\nb\n")
    assert prints("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not prints("a\n...\nd\n", "a\nb\n")
