"""Every block of a README runs, and prints what the README says.

A ```python block begins with a comment that names its file; it is written there. Commands (tests/support/pages.py)
run in a copy of the examples, in order; `make` is what CI itself runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import Shell, blocks, commands, measured, prints

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "examples/yolo11/README.md", "examples/cnclip/README.md"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    if not (ROOT / "examples" / "yolo11" / "weights" / "yolo11n.onnx").exists():
        pytest.skip("no weights: run make setup")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    return tmp_path


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
