"""Every block of a README runs, and prints what the README says.

A ```python block begins with a comment that names its file; it is written there. A ```console block holds commands
(`$ ...`) and what they print; `...` stands for any lines. Commands run in a copy of the examples, in order; `make` is
what CI itself runs. A command that ends with `&` runs until `kill %1`: the next one waits until it has printed what the
page says. What was measured differs each time: where a command measures, any number is as good as another.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
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
        self._background: subprocess.Popen[str] | None = None

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *error: object) -> None:
        if self._background is not None:
            self._kill()

    def run(self, command: str, want: str) -> None:
        if command == "kill %1":
            assert self._kill() == 0
            return
        for usual, port in self._ports.items():
            command = command.replace(usual, port)
            want = want.replace(usual, port)
        if command.endswith(" &"):
            self._start(command.removesuffix(" &"), want)
            return
        got = subprocess.run(command, check=False, stdout=subprocess.PIPE, **self._options).stdout
        right = prints(want, got) or ("measuring" in want and prints(measured(want), measured(got)))
        assert right, f"$ {command}\n{got}"

    def _start(self, command: str, want: str) -> None:
        """Until it has printed what is wanted. Where a server found its port taken, that one stands for the page's."""
        process = self._background = subprocess.Popen(f"exec {command}", stdout=subprocess.PIPE, **self._options)
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

    def _kill(self) -> int:
        """End what runs in the background; its exit code."""
        process, self._background = self._background, None
        assert process is not None, "nothing runs in the background"
        process.terminate()
        process.communicate()
        return process.returncode


@pytest.mark.weights
@pytest.mark.triton
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_it_says(page: str, copy: Path) -> None:
    found = blocks((ROOT / page).read_text(encoding="utf-8"))
    assert found
    with Shell(copy) as shell:
        for language, block in found:
            if language == "python":
                file = copy / _file_of(block)
                if not file.exists():  # the example's own is what a reader has, with its own line numbers
                    file.write_text(block, encoding="utf-8")
                continue
            assert language == "console", block
            for command, want in commands(block):
                if not command.startswith("make "):
                    shell.run(command, want)


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_pass_strict_type_checking(page: str, tmp_path: Path) -> None:
    """A reader writes them where `make check` looks."""
    pytest.importorskip("mypy")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "weights"))
    names = programs(page)
    for name, text in names.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for folder in sorted({Path(name).parent for name in names}):
        files = [str(tmp_path / name) for name in names if Path(name).parent == folder]
        command = [sys.executable, "-m", "mypy", "--strict", *files]
        environment = {**os.environ, "MYPYPATH": str(tmp_path / folder)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_git_ignores_what_a_page_tells_to_write(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    written = {*programs(page), *re.findall(r" -o (\S+)", text), *re.findall(r"^\$ .* > (\S+)", text, re.MULTILINE)}
    tracked = subprocess.run(["git", "ls-files", *written], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("this is no checkout")
    new = sorted(written - set(tracked.stdout.split()))
    paths = [name if "." in name else f"{name}/" for name in new]
    ignored = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout.split() == paths


def programs(page: str) -> dict[str, str]:
    """The files of a page's Python blocks."""
    found = blocks((ROOT / page).read_text(encoding="utf-8"))
    return {_file_of(block): block for language, block in found if language == "python"}


def _file_of(block: str) -> str:
    name = re.match(r"# (\S+\.py)\n", block)
    assert name is not None, f"which file is it?\n{block}"
    return name[1]


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


def test_what_is_measured_is_compared_but_for_its_numbers() -> None:
    shown = "clients infer/s\n  1  7.0 stable\n  2 3  46% model  44x1\n"
    assert prints(measured(shown), measured("clients infer/s\n 1 17.2 unstable\n 20 1% model 40x1 2x2\n"))
    assert not prints(measured(shown), measured("clients infer/s\n 1 7.0\n 2 3 46% other 44x1\n"))
    assert not prints(measured(shown), measured("clients infer/s\n 1 7.0\n 2 3 46%\n"))
