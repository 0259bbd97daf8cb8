"""Every block of docs/ runs in a copy of the examples, in order, and prints what its page says.

A page that needs a server is followed up to there, and to its end with those tests. A Chinese page has the blocks of
the English one, so they run once. docs/ascend.md has a test of its own; test_reference.py sees to docs/reference.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import NEEDS_SERVER, Shell, blocks, follow, prints, programs, without_servers
from pages import copy as copy

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXTS = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
CHINESE = [name for name in TEXTS if name.endswith(".zh.md")]
RUN = [name for name, text in TEXTS.items() if "```console" in text and name not in (*CHINESE, "ascend.md")]
SERVED = [name for name in RUN if NEEDS_SERVER.search(TEXTS[name])]
MEASURED = {  # what a page says of benchmarks.md: a row there, the row that it is compared with, and the bounds
    ("explanation/gears.md", "3 % more memory"): ("all eight", "the largest alone", 1.02, 1.04),
    ("explanation/order.md", "some 35 times as long"): ("convert first", "resize first", 25, 45),
    ("explanation/order.md", "less than half"): ("gepipe", "resize first", 0.3, 0.45),
    ("explanation/zero-copy.md", "about 25 us"): ("run", "", 20, 30),
    ("explanation/zero-copy.md", "1 % more memory"): (
        "the same: resident memory at the end, of that after 500",
        "",
        1,
        1.02,
    ),
}


@pytest.mark.weights
@pytest.mark.parametrize("page", RUN)
def test_every_block_runs_and_prints_what_the_page_says(page: str, copy: Path) -> None:
    text = without_servers(TEXTS[page])
    follow(text, shell_for(page, copy))
    for picture in re.findall(r"^\$ gepipe draw .* -o (\w+\.svg)", text, re.MULTILINE):
        if f"assets/{picture}" in text:
            assert labels(DOCS / "assets" / picture) == labels(copy / "mine" / picture), "draw it again, by the page"


@pytest.mark.weights
@pytest.mark.triton
@pytest.mark.parametrize("page", SERVED)
def test_a_page_is_followed_to_its_end_on_a_server(page: str, copy: Path) -> None:
    follow(TEXTS[page], shell_for(page, copy))


@pytest.mark.parametrize("page", [name for name in TEXTS if not name.startswith("reference/")])
def test_no_block_escapes_the_tests(page: str) -> None:
    found = blocks(TEXTS[page])
    assert TEXTS[page].count("```") == 2 * len(found)
    assert {language for language, _ in found} <= {"console", "python", "text"}
    if page in RUN:
        assert "```console" in without_servers(TEXTS[page])


@pytest.mark.parametrize("page", RUN)
def test_what_a_page_writes_is_in_a_folder_that_git_ignores(page: str) -> None:
    text = TEXTS[page]
    writes = programs(text) or re.search(r"^\$ .* (-o|>) ", text, re.MULTILINE)
    assert not writes or "$ mkdir -p mine && cd mine\n" in text


def test_the_programs_of_all_pages_pass_strict_type_checking(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    files = []
    for name, program in ((name, program) for page in RUN for name, program in programs(TEXTS[page]).items()):
        if "import torch\n" not in program:
            files.append(tmp_path / name)
            assert not files[-1].exists(), f"two pages write {name}"
            files[-1].write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, files)]
    environment = {**os.environ, "MYPYPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=DOCS.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", CHINESE)
def test_a_chinese_page_has_the_blocks_and_the_headings_of_the_english_one(page: str) -> None:
    english = TEXTS[page.replace(".zh.md", ".md")]
    assert blocks(TEXTS[page]) == blocks(english)
    levels = [
        re.findall(r"^(#+) ", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
        for text in (TEXTS[page], english)
    ]
    assert levels[0] == levels[1]


def test_every_page_that_is_not_made_from_the_code_is_there_in_chinese() -> None:
    wanted = {name for name in TEXTS if name not in (*CHINESE, "ops.md", "benchmarks.md")}
    wanted = {name for name in wanted if not name.startswith("reference/")}
    assert {name.replace(".zh.md", ".md") for name in CHINESE} == wanted


@pytest.mark.parametrize("page", [*CHINESE, "../README.zh-CN.md"])
def test_a_link_of_a_chinese_page_stays_in_chinese_where_it_can(page: str) -> None:
    """Also for who reads the files themselves, without the site."""
    file = DOCS / page
    for link in re.findall(r"\]\(([^)\s#:]+\.md)[#)]", file.read_text(encoding="utf-8")):
        assert (file.parent / link).is_file(), link
        assert link.endswith(".zh.md") or not (file.parent / link).with_suffix(".zh.md").is_file(), link


@pytest.mark.parametrize(("page", "words"), MEASURED)
def test_what_a_page_says_of_a_measurement_is_true(page: str, words: str) -> None:
    what, of, least, most = MEASURED[page, words]
    assert words in " ".join(TEXTS[page].split())
    assert least <= figure(what) / (figure(of) if of else 1) <= most


def test_a_gap_stands_for_lines_that_are_there_and_not_for_those_that_are_not() -> None:
    assert prints("...\na\n...", "x\na\ny")
    assert prints("a\n...", "a")
    assert not prints("...\na\n...", "x")
    assert not prints("a\n...", "")


def labels(picture: Path) -> list[str]:
    """What is written in a drawing."""
    return re.findall(r">([^<>]+)</text>", picture.read_text(encoding="utf-8"))


def shell_for(page: str, folder: Path) -> Shell:
    """A shell; for a page that converts a model of PyTorch one that knows the Python in which torch is."""
    if "import torch\n" not in TEXTS[page]:
        return Shell(folder)
    python = os.environ.get("GEPIPE_TORCH")
    if python is None:
        pytest.importorskip("torch")
        return Shell(folder)
    return Shell(folder, {"gepipe convert net.": f"gepipe convert --python {python} net."})


def figure(what: str) -> float:
    """The first number of the first row of that name, in benchmarks.md; of a claim what was measured."""
    row = re.search(rf"^\| {re.escape(what)} \|(?: at \w+ [^|]+\|)? ([\d.,]+)", TEXTS["benchmarks.md"], re.MULTILINE)
    assert row is not None, what
    return float(row[1].replace(",", ""))


def test_both_readme_files_link_to_the_front_page() -> None:
    for name, front in (("README.md", "docs/index.md"), ("README.zh-CN.md", "docs/index.zh.md")):
        assert f"({front})" in (DOCS.parent / name).read_text(encoding="utf-8")
