"""Every block of a README runs in a copy of the examples, in order, and prints what the README says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import Shell, blocks, follow, measured, prints, programs
from pages import copy as copy

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "examples/yolo11/README.md", "examples/cnclip/README.md"]


@pytest.mark.weights
@pytest.mark.triton
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_it_says(page: str, copy: Path) -> None:
    follow(text_of(page), Shell(copy))


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_pass_strict_type_checking(page: str, tmp_path: Path) -> None:
    """A reader writes them where `make check` looks."""
    pytest.importorskip("mypy")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "weights"))
    names = programs(text_of(page))
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
    text = text_of(page)
    written = {*programs(text), *re.findall(r" -o (\S+)", text), *re.findall(r"^\$ .* > (\S+)", text, re.MULTILINE)}
    tracked = subprocess.run(["git", "ls-files", *written], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("this is no checkout")
    new = sorted(written - set(tracked.stdout.split()))
    paths = [name if "." in name else f"{name}/" for name in new]
    ignored = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout.split() == paths


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_the_pipeline_of_the_readme_is_that_of_the_example() -> None:
    block = next(iter(programs(text_of("README.md")).values()))
    example = (ROOT / "examples" / "yolo11" / "graph.py").read_text(encoding="utf-8")
    assert block.partition("\n")[2] == example.partition("\n\n")[2]


def test_the_chinese_readme_has_the_blocks_of_the_english_one_and_each_links_to_the_other() -> None:
    english, chinese = map(text_of, ("README.md", "README.zh-CN.md"))
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
