from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import BUS_640, BUS_640_480, ZIDANE_640
from static import assert_static, run_alone
from weights import ROOT, laid_out

import ops
from ge_engine import Model
from ops import Array
from pipeline import Pipeline, Plan
from pipeline.load import load

pytestmark = pytest.mark.weights


def photo(name: str) -> bytes:
    return laid_out(f"examples/yolo11/weights/{name}.jpg").read_bytes()


def detector(**letterbox: Any) -> Pipeline:
    laid_out("examples/yolo11/weights/yolo11n.onnx")
    pipeline = Pipeline("detector")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    image, transform = ops.Letterbox(**letterbox)(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    heads = Model(ROOT / "examples/yolo11/weights/yolo11n.onnx")(x)
    boxes, scores, classes = ops.YoloBoxes(conf_threshold=0.25, iou_threshold=0.45)(heads, transform)
    pipeline.output(boxes=boxes, scores=scores, classes=classes)
    return pipeline


@pytest.fixture(scope="module")
def plan() -> Plan:
    laid_out("examples/yolo11/weights/yolo11n.onnx")
    return load(str(ROOT / "examples/yolo11/graph.py")).compile(gears=(1, 2, 4), streams=2)


def assert_detections(answer: dict[str, Array], wanted: tuple[Any, ...]) -> None:
    assert answer["classes"].tolist() == [want[0] for want in wanted]
    np.testing.assert_allclose(answer["scores"], [want[1] for want in wanted], atol=0.005)
    for box, want in zip(answer["boxes"], wanted):
        if len(want) > 2:
            np.testing.assert_allclose(box, want[2], atol=1.5)


def same(a: Any, b: Any) -> bool:
    return all(a[key].tobytes() == b[key].tobytes() for key in ("boxes", "scores", "classes"))


def test_the_photos_give_the_published_boxes(plan: Plan) -> None:
    with plan.session() as session:
        bus, zidane = session.run_batch([{"image": photo("bus")}, {"image": photo("zidane")}])
    assert isinstance(bus, dict)
    assert isinstance(zidane, dict)
    assert_detections(bus, BUS_640)
    assert_detections(zidane, ZIDANE_640)
    assert bus["boxes"].dtype == np.float32
    assert bus["classes"].dtype == np.int32


def test_the_size_with_least_padding_gives_the_published_boxes_of_that_size() -> None:
    with detector(sizes=((640, 640), (640, 480))).compile().session() as session:
        assert_detections(session.run(image=photo("bus")), BUS_640_480)


def test_batches_of_any_size_equal_single_runs() -> None:
    samples = [{"image": photo(name)} for name in ("bus", "zidane", "zidane", "bus", "bus", "zidane", "bus")]
    with detector(height=320, width=320).compile(gears=(1, 2, 4, 8)).session() as session:
        bus, zidane = (session.run(image=photo(name)) for name in ("bus", "zidane"))
        solo = [bus if sample["image"] == samples[0]["image"] else zidane for sample in samples]
        for n in (0, 1, 2, 3, 5, 7):
            assert all(same(a, b) for a, b in zip(session.run_batch(samples[:n]), solo))


def test_sizes_mixed_in_one_batch_equal_single_runs() -> None:
    names = ("bus", "zidane", "bus", "bus", "zidane")
    with detector(sizes=((320, 256), (192, 320))).compile(gears=(1, 4)).session() as session:
        solo = {name: session.run(image=photo(name)) for name in ("bus", "zidane")}
        answers = session.run_batch([{"image": photo(name)} for name in names])
    assert all(same(answer, solo[name]) for answer, name in zip(answers, names))


def test_two_photos_in_turn_never_leak_into_each_other() -> None:
    with detector(height=160, width=160).compile(streams=2).session() as session:
        solo = {name: session.run(image=photo(name)) for name in ("bus", "zidane")}
        assert not same(solo["bus"], solo["zidane"])

        def alternate(first: int) -> bool:
            names = ["bus", "zidane"] * 25
            return all(same(session.run(image=photo(name)), solo[name]) for name in names[first:] + names[:first])

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(alternate, (0, 1, 0, 1)))


def test_every_static_graph_is_static_and_alone_gives_the_sessions_heads(plan: Plan) -> None:
    (built,) = plan.built.values()
    assert not built.dynamic
    with plan.session() as session, session.lease() as context:
        pixels = ops.DecodeImage(color="RGB").run(photo("bus"))
        ops.Letterbox(height=640, width=640).run(pixels, out={"image": context.inputs["letterbox.image"][0]})
        context.inputs["letterbox.image"][1:] = context.inputs["letterbox.image"][0]
        for gear, static in built.static.items():
            feeds = {"letterbox.image": context.inputs["letterbox.image"][: gear.batch].copy()}
            context.run(gear.batch)
            heads = context.outputs["output0"][: gear.batch]
            assert run_alone(static, feeds)["output0"].tobytes() == heads.tobytes()
            assert_static(static, feeds)


def test_padding_never_reaches_the_real_rows_of_a_static_graph(plan: Plan) -> None:
    (built,) = plan.built.values()
    static = next(static for gear, static in built.static.items() if gear.batch == 4)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (4, 640, 640, 3), dtype=np.uint8)
    want = run_alone(static, {"letterbox.image": pixels})["output0"]
    for filler in (0, 255):
        pixels[3] = filler
        assert run_alone(static, {"letterbox.image": pixels})["output0"][:3].tobytes() == want[:3].tobytes()


def test_nothing_is_copied(plan: Plan) -> None:
    with plan.session() as session:
        session.run(image=photo("bus"))
        # The letterbox wrote into the bound buffer, and YoloBoxes makes the answer's own arrays.
        assert session.copies == (1, 0, 0)


DECLARED = """
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("yolo11")
jpeg = pipeline.input("image", ops.ENCODED_IMAGE)                       # one encoded file a sample: bytes
pixels = ops.DecodeImage(color="RGB")(jpeg)                             # uint8[H,W,3]
image, transform = ops.Letterbox(height=640, width=640)(pixels)         # uint8[640,640,3], float32[..]
x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)                 # float32[3,640,640]
model = Model("yolo11n.onnx")
boxes, scores, classes = ops.YoloBoxes(conf_threshold=0.25, iou_threshold=0.45)(model(x), transform)
pipeline.output(boxes=boxes, scores=scores, classes=classes)
"""
USED = """
from graph import pipeline
import sys
import ops
data, other = (open(name, "rb").read() for name in sys.argv[1:])
pixels = [ops.DecodeImage(color="RGB").run(d) for d in (data, other)]
two_images = [ops.Letterbox(height=640, width=640).run(p)[0] for p in pixels]
a, b = data, other

plan = pipeline.compile(gears=(1, 2, 4, 8), streams=2)
print(plan)
with plan.session() as session:
    one = session.run(image=data)
    many = session.run_batch([{"image": a}, {"image": b}])
    with session.lease() as context:
        context.inputs["letterbox.image"][:2] = two_images; context.run(2); heads = context.outputs["output0"][:2]
        assert heads.shape == (2, 84, 8400)
assert (one["boxes"] == many[0]["boxes"]).all() and len(one["boxes"]) == 5 and len(many[1]["boxes"]) == 3
"""


def test_the_code_that_the_documentation_opens_with_works_as_written(tmp_path: Path) -> None:
    photos = [str(laid_out(f"examples/yolo11/weights/{name}.jpg")) for name in ("bus", "zidane")]
    shutil.copy(laid_out("examples/yolo11/weights/yolo11n.onnx"), tmp_path)
    (tmp_path / "graph.py").write_text(DECLARED)
    (tmp_path / "use.py").write_text(USED)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "use.py"), *photos], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "gears 1,2,4,8" in done.stdout
