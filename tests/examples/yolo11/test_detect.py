from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from golden import BUS_640
from onnx_files import scale_model

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "yolo11"
PHOTO = EXAMPLE / "weights" / "bus.jpg"

LABELS = {5: "bus", 0: "person"}


def detect(*arguments: str, script: Path = EXAMPLE / "detect.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.weights
def test_the_demo_prints_the_published_boxes_and_draws_them() -> None:
    if not PHOTO.exists():
        pytest.skip("no weights: run make setup")
    picture = EXAMPLE / "out" / "bus.png"
    picture.unlink(missing_ok=True)
    result = detect()
    assert result.returncode == 0, result.stderr
    found = re.findall(r"^(\S+) +(\S+) +\[(.*)\]$", result.stdout, re.MULTILINE)
    assert [label for label, _, _ in found] == [LABELS[number] for number, _, _ in BUS_640]
    for (_, score, box), (_, want_score, want_box) in zip(found, BUS_640):
        assert float(score) == pytest.approx(want_score, abs=0.005)
        assert [float(value) for value in box.split(",")] == pytest.approx(want_box, abs=1.5)
    drawn, photo = cv2.imread(str(picture)), cv2.imread(str(PHOTO))
    assert drawn is not None
    assert photo is not None
    assert drawn.shape == photo.shape
    assert drawn[500, 12].tolist() == [0, 160, 255]  # the left side of the bus's box
    assert (drawn == photo).all(axis=2).mean() > 0.9


@pytest.mark.weights
@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), (b"text", "fix: ")], ids=["missing", "no picture"]
)
def test_what_is_no_picture_is_refused_in_words(tmp_path: Path, content: bytes | None, message: str) -> None:
    if not PHOTO.exists():
        pytest.skip("no weights: run make setup")
    path = tmp_path / "a.jpg"
    if content is not None:
        path.write_bytes(content)
    result = detect(str(path))
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_without_the_weights_it_says_where_they_come_from(tmp_path: Path) -> None:
    for name in ("detect.py", "graph.py"):
        shutil.copy(EXAMPLE / name, tmp_path)
    result = detect(script=tmp_path / "detect.py")
    assert result.returncode == 1
    assert "run make setup" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_class_without_a_label_is_called_by_its_number(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "detect.py", tmp_path)
    scale_model(tmp_path / "m.onnx", metadata={"names": "['cat']"})
    (tmp_path / "graph.py").write_text("from ge_engine import Model\nmodel, pipeline = Model('m.onnx'), None\n")
    code = "import detect; print(detect.label_of(0), detect.label_of(1))"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout == "cat class 1\n"


@pytest.mark.parametrize("size", [(500, 741), (120, 160), (3000, 4000)])
def test_labels_can_be_read_on_a_picture_of_any_size(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    for name in ("graph", "detect"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    white = bytes(cv2.imencode(".png", np.full((*size, 3), 255, np.uint8))[1])
    drawn = importlib.import_module("detect").draw(white, np.array([[0, size[0] // 2, 50, size[0]]]), ["bus"])
    rows = np.flatnonzero((drawn.max(axis=2) < 100).any(axis=1))  # those of black letters
    assert rows[-1] - rows[0] >= 10  # a b is most of the 16 pixels of its font
    assert rows[-1] - rows[0] <= size[0] / 5
