from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import cv2
import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "yolo11"
PHOTO = EXAMPLE / "weights" / "bus.jpg"

# What Ultralytics prints for bus.jpg with yolo11n at 640x640.
GOLDEN = (
    ("bus", 0.939, (11.9, 228.4, 799.2, 735.2)),
    ("person", 0.902, (48.6, 398.0, 243.2, 904.5)),
    ("person", 0.849, (670.6, 392.6, 810.0, 879.6)),
    ("person", 0.833, (223.1, 405.6, 345.2, 859.7)),
    ("person", 0.399, (-0.1, 550.2, 66.0, 871.8)),
)


def detect(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE / "detect.py"), *arguments]
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
    assert [label for label, _, _ in found] == [label for label, _, _ in GOLDEN]
    for (_, score, box), (_, want_score, want_box) in zip(found, GOLDEN):
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
