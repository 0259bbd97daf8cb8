"""Models as their packages ship them: inspected, mended, put into a pipeline, exported, linted, verified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import onnx
import pytest
from command_line import gepipe
from golden import BUS_640
from weights import laid_out

from ops import Array
from pipeline import Plan
from pipeline.load import load

pytestmark = pytest.mark.weights

YOLO11 = """
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("yolo11")
pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
image, transform = ops.Letterbox(height=640, width=640)(pixels)
x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
boxes, scores, classes = ops.YoloBoxes(conf_threshold=0.25, iou_threshold=0.45)(Model("mended.onnx")(x), transform)
pipeline.output(boxes=boxes, scores=scores, classes=classes)
"""
OCR = """
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("ocr")
line = pipeline.input("line", ops.TensorSpec("uint8", (48, 640, 3)))
x = ops.Normalize(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))(line)
pipeline.output(letters=Model("mended.onnx")(x))
"""
FACES = """
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("faces")
pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
image = ops.Resize(height=640, width=640)(pixels)
x = ops.Normalize(mean=(0, 0, 0), std=(1 / 255, 1 / 255, 1 / 255))(image)  # the network takes 0..255
heads = Model("mended.onnx")(x)
pipeline.output(heat=heads["537"], scale=heads["538"], offset=heads["539"], landmarks=heads["540"])
"""


@dataclass(frozen=True)
class Shipped:
    """A model, what its user types, and the pipeline around it."""

    file: str
    options: tuple[str, ...]
    graph: str
    name: str


SHIPPED = {
    "yolo11n": Shipped("examples/yolo11/weights/yolo11n.onnx", ("--at", "height=640,width=640"), YOLO11, "yolo11"),
    "ocr": Shipped("tests/weights/ocr_recognition.onnx", ("--at", "height=48,width=640"), OCR, "ocr"),
    "centerface": Shipped("tests/weights/centerface.onnx", (), FACES, "faces"),
}
every = pytest.mark.parametrize("name", SHIPPED)


class Mended(NamedTuple):
    """A folder with the model mended and the pipeline around it; what was said."""

    folder: Path
    text: str


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Mended]:
    @cache
    def mend(name: str) -> Mended:
        shipped, folder = SHIPPED[name], tmp_path_factory.mktemp(name)
        words = ["inspect", str(laid_out(shipped.file)), *shipped.options, "--fix", "-o", str(folder / "mended.onnx")]
        result = gepipe(*words)
        assert result.exit_code == 0, result.output
        (folder / "graph.py").write_text(shipped.graph, encoding="utf-8")
        return Mended(folder, result.stdout)

    return mend


@pytest.fixture(scope="module")
def exported(mended: Callable[[str], Mended]) -> Callable[[str], Path]:
    @cache
    def export(name: str) -> Path:
        folder = mended(name).folder
        done = gepipe("export", str(folder / "graph.py"), "-o", str(folder / "models"), "--gears", "1,2")
        assert done.exit_code == 0, done.stderr
        return folder / "models"

    return export


def compiled(folder: Path) -> Plan:
    return load(str(folder / "graph.py")).compile(gears=(1, 2))


def answer(plan: Plan, **sample: Any) -> dict[str, Array]:
    with plan.session() as session:
        return session.run(**sample)


def photo(name: str) -> bytes:
    return laid_out(f"examples/yolo11/weights/{name}.jpg").read_bytes()


@every
def test_what_is_mended_is_proven_and_has_no_finding_left(name: str, mended: Callable[[str], Mended]) -> None:
    lines = mended(name).text.splitlines()
    assert lines[-1] == "no problem found"
    assert any("mended.onnx: all fixes together, " in line for line in lines)
    assert not any("not made" in line for line in lines)


def test_yolo11n_loses_its_shape_arithmetic_and_finds_the_bus(mended: Callable[[str], Mended]) -> None:
    folder, text = mended("yolo11n")
    assert "101 nodes that static shapes make constant at height 640, width 640: folded" in text
    found = answer(compiled(folder), image=photo("bus"))
    assert found["classes"].tolist() == [want[0] for want in BUS_640]
    np.testing.assert_allclose(found["scores"], [want[1] for want in BUS_640], atol=0.005)


def test_the_axes_of_the_text_recognition_get_names_and_it_reads(mended: Callable[[str], Mended]) -> None:
    folder, text = mended("ocr")
    assert "now float32[batch, 3, height, width]" in text or "now [batch, 3, height, width]" in text
    assert "now [batch, (width+3)/8, 6625]" in text
    page = cv2.imread(str(laid_out("examples/cnclip/weights/page.png")))
    line = np.full((48, 640, 3), 255, np.uint8)
    crop = cv2.resize(page[8:34], (page.shape[1] * 48 // 26, 48))[:, :640]
    line[:, : crop.shape[1]] = crop
    metadata = onnx.load(folder / "mended.onnx").metadata_props  # it came along
    alphabet = next(entry.value for entry in metadata if entry.key == "character").splitlines()
    best = answer(compiled(folder), line=line)["letters"].argmax(1)
    letters = [index for place, index in enumerate(best) if index and (not place or best[place - 1] != index)]
    assert "".join([*alphabet, " "][index - 1] for index in letters) == "Region-based segmentation"


def test_the_face_detector_takes_pictures_larger_than_it_declared(mended: Callable[[str], Mended]) -> None:
    folder, text = mended("centerface")
    assert "input 'input.1' declared float32[10, 3, 32, 32]: now [batch, 3, height, width]" in text
    heat = answer(compiled(folder), image=photo("zidane"))["heat"]
    assert heat.shape == (1, 160, 160)
    assert heat.max() == pytest.approx(0.78, abs=0.01)


@every
def test_its_export_lints_clean(name: str, exported: Callable[[str], Path]) -> None:
    linted = gepipe("lint", str(exported(name)), "--strict")
    assert linted.exit_code == 0, linted.stdout


@pytest.mark.triton
@every
def test_its_export_is_verified_on_a_server(name: str, exported: Callable[[str], Path]) -> None:
    verified = gepipe("verify", str(exported(name)))
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    assert f"ok  {SHIPPED[name].name}: READY" in verified.stdout.splitlines()
