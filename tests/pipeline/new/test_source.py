"""How a draft is written, and what its checks say to write instead."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drafts import PIXELS, run, texts_of
from kind_models import PICTURES, VOCAB, head, ids
from weights import ROOT

from pipeline.load import load
from pipeline.new import Draft, draft
from pipeline.new.kinds import Kind
from pipeline.new.source import identifier


def followed(made: Draft, number: int) -> str:
    """The text with what a check says taken instead: up to where the same value, or the same output, is made."""
    check, lines = made.checks[number], made.text.splitlines()
    start = lines.index(f"#     {check.instead[0]}", check.line - 1)
    rest = start + len(check.instead)
    names = [name for name in check.instead[-1].partition(" = ")[0].split(", ") if name != "_"]
    ends = ("pipeline.output(",) if "(" in names[0] else tuple(f"{name}{end}" for name in names for end in (" =", ","))
    last = max(index for index in range(rest, len(lines)) if lines[index].startswith(ends))
    while lines[last].endswith("(") or lines[last].startswith("    "):  # a call on several lines
        last += 1
    return "\n".join((*lines[:start], *check.instead, *lines[last + 1 :])) + "\n"


TEXTS: dict[str, tuple[Any, ...]] = {
    "ids to a vector": (("text",), np.int64, True),
    "ids to a vector each": (("input_ids", "attention_mask"), np.int64, False),
    "ids of 32 bits": (("tokens", "segment_ids", "mask"), np.int32, True),
}


@pytest.mark.parametrize("case", [*PICTURES, *TEXTS])
def test_what_a_check_says_can_be_taken_instead_and_passes(case: str, tmp_path: Path) -> None:
    if case in PICTURES:
        model = PICTURES[case][0](tmp_path / "model.onnx")
    else:
        names, dtype, pooled = TEXTS[case]
        model = ids(tmp_path / "model.onnx", names, np.dtype(dtype), pooled=pooled)
    made = draft(model, tmp_path / "graph.py")
    classes = int(next((word for word in re.findall(r"its (\d+) classes", texts_of(made))), "1"))
    (tmp_path / "labels.txt").write_text("".join(f"class {number}\n" for number in range(classes)), encoding="utf-8")
    (tmp_path / "vocab.txt").write_text(VOCAB, encoding="utf-8")
    places = [number for number, check in enumerate(made.checks) if check.instead]
    for number in places:
        place = tmp_path / f"followed{number}.py"
        place.write_text(followed(made, number), encoding="utf-8")
        assert load(str(place)).validate().outputs
    assert places or made.kind in (Kind.DETECTOR, Kind.PICTURE, Kind.MASKS, Kind.TOKENS)


def test_what_the_names_of_classes_are_for_is_answered(tmp_path: Path) -> None:
    made = draft(head(tmp_path / "model.onnx", 7, last="Softmax"), tmp_path / "graph.py")
    (tmp_path / "labels.txt").write_text("\n".join("abcdefg"), encoding="utf-8")
    number = next(number for number, check in enumerate(made.checks) if "names of its 7 classes" in check.text)
    place = tmp_path / "graph.py"
    place.write_text(followed(made, number), encoding="utf-8")
    best = {name.decode() for name in run(place, **PIXELS)["labels"]}
    assert len(best) == 5
    assert best <= set("abcdefg")


def test_the_length_of_a_vector_is_to_be_looked_at(tmp_path: Path) -> None:
    """Whether vectors are to be of length 1 is in no file."""
    for model in (head(tmp_path / "i.onnx", 33, name="embedding"), ids(tmp_path / "t.onnx", ("text",), np.int64)):
        (tmp_path / "vocab.txt").write_text(VOCAB, encoding="utf-8")
        made = draft(model, tmp_path / "graph.py")
        (check,) = (check for check in made.checks if "brought to length 1" in check.text)
        assert check.instead[0].startswith("vector = model(")
        assert made.text.splitlines()[check.line - 1].startswith("# CHECK: the vector is brought to length 1")


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the draft of each case, in a folder of its own."""
    pytest.importorskip("mypy")  # ruff is where mypy is
    root = tmp_path_factory.mktemp("drafts")
    for number, (write, *_) in enumerate(PICTURES.values()):
        folder = root / f"case{number}" / ("deep" * 20 if number % 2 else "d")  # long paths, too
        folder.mkdir(parents=True)
        place = root / f"case{number}" / f"graph{number}.py"
        place.write_text(draft(write(folder / "model.onnx"), place).text, encoding="utf-8")
    for number, names in enumerate((("input_ids", "attention_mask"), ("tokens", "segment_ids", "mask"), ("a", "b"))):
        folder = root / f"text{number}" / ("long" * 20)
        folder.mkdir(parents=True)
        (folder / "vocab.txt").write_text(VOCAB, encoding="utf-8")
        place = root / f"text{number}" / f"text{number}.py"
        model = ids(folder / "model.onnx", names, np.int32, "length")
        place.write_text(draft(model, place).text, encoding="utf-8")
    return root


def checked(root: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_it_is_formatted_as_ruff_would_and_nothing_is_found_in_it(every_kind: Path) -> None:
    assert not checked(every_kind, "ruff", "format", "--isolated", "--diff", ".")
    assert not checked(
        every_kind, "ruff", "check", "--isolated", "--select", "E,F,W,I,B,UP,N,D1", "--ignore", "E501", "."
    )


def test_it_passes_mypy_strict(every_kind: Path) -> None:
    files = [str(path) for path in sorted(every_kind.rglob("*.py"))]
    assert not checked(ROOT, "mypy", "--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache'}", *files)


def test_each_check_names_its_line(every_kind: Path) -> None:
    model = head(every_kind / "model.onnx", 11)
    made = draft(model, every_kind / "graph.py")
    lines = made.text.splitlines()
    assert made.checks
    for check in made.checks:
        assert lines[check.line - 1].startswith(f"# CHECK: {check.text[:20]}")


def test_a_name_becomes_one_that_python_takes() -> None:
    assert [identifier(name) for name in ("x", "x.1", "1", "lambda", "name")] == ["x", "x_1", "_1", "lambda_", "name_"]
