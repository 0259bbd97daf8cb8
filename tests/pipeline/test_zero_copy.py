"""After warm-up a request allocates no block of 64 KiB: whatever is large is in buffers that were there before.

What a decoder returns is its own, so these samples are arrays. numpy tells tracemalloc of its memory.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import cv2
import numpy as np
import pytest
from tiny import picture_model
from weights import laid_out

import ops
from ge_engine import Model
from ops import Array, TensorSpec
from pipeline import Pipeline, Session

LARGE = 64 * 1024
BATCH = 2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def detector(folder: Path) -> Pipeline:
    """YOLO11n, on an array."""
    pipeline = Pipeline("detector")
    image, transform = ops.Letterbox(height=640, width=640)(_picture(pipeline))
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    model = Model(laid_out("examples/yolo11/weights/yolo11n.onnx"))
    boxes, scores, classes = ops.YoloBoxes()(model(x), transform)
    pipeline.output(boxes=boxes, scores=scores, classes=classes)
    return pipeline


def classifier(folder: Path) -> Pipeline:
    pipeline = Pipeline("classifier")
    x = ops.Normalize(mean=MEAN, std=STD)(ops.Resize(height=224, width=224)(_picture(pipeline)))
    best = ops.TopK(k=3)(ops.Softmax()(Model(picture_model(folder))(x)))
    pipeline.output(scores=best.scores, indices=best.indices)
    return pipeline


def cropping(folder: Path, filter: str) -> Pipeline:
    """As classifier, the shorter side first: the resized picture has the aspect of the source."""
    pipeline = Pipeline("cropping")
    crop = ops.CenterCrop(height=224, width=224)(ops.Resize(shorter=256, filter=filter)(_picture(pipeline)))
    pipeline.output(y=Model(picture_model(folder))(ops.Normalize(mean=MEAN, std=STD)(crop)))
    return pipeline


def _picture(pipeline: Pipeline) -> ops.Edge:
    return pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))


def run(session: Session, image: Array) -> None:
    session.run(image=image)


def run_batch(session: Session, image: Array) -> None:
    session.run_batch([{"image": image}] * BATCH)


def submit(session: Session, image: Array) -> None:
    session.submit(image=image).result()


@pytest.fixture(scope="module")
def image() -> Array:
    """A street: five things are found on it."""
    pixels = cv2.imread(str(laid_out("examples/yolo11/weights/bus.jpg")), cv2.IMREAD_COLOR)
    assert pixels is not None
    return pixels


@pytest.mark.parametrize(
    "declare",
    [
        detector,
        classifier,
        pytest.param(partial(cropping, filter="opencv_linear"), id="cropping, OpenCV"),
        pytest.param(partial(cropping, filter="pillow_bicubic"), id="cropping, Pillow"),
    ],
)
def test_after_warm_up_a_request_allocates_nothing_large(
    tmp_path: Path, image: Array, declare: Callable[[Path], Pipeline]
) -> None:
    with declare(tmp_path).compile(gears=(1, BATCH)).session() as session:
        for ask in (run, run_batch):
            ask(session, image)
            assert _largest(lambda ask=ask: ask(session, image)) < LARGE, ask  # type: ignore[misc]


def test_submit_allocates_nothing_large_of_its_own(tmp_path: Path, image: Array) -> None:
    with classifier(tmp_path).compile(gears=(1, BATCH)).session() as session:
        for _ in range(2):
            submit(session, image)
        assert _at_once(lambda: submit(session, image)) < LARGE


def _largest(ask: Callable[[], None]) -> int:
    """The most bytes that one line of Python, or a call it makes into C, takes: so no block is larger."""
    grown = [0]
    before = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal before
        grown.append(tracemalloc.get_traced_memory()[1] - before)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        return line

    traced = sys.gettrace()
    tracemalloc.start()
    sys.settrace(line)
    try:
        ask()
    finally:
        sys.settrace(traced)
        tracemalloc.stop()
    return max(grown)


def _at_once(ask: Callable[[], None]) -> int:
    """The most bytes in use at once that were not before, in all threads."""
    tracemalloc.start()
    try:
        ask()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        ask()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_a_block_of_numpy_is_seen() -> None:
    assert _largest(lambda: _hold(np.empty(LARGE, np.uint8))) >= LARGE
    assert _at_once(lambda: _hold(np.empty(LARGE, np.uint8))) >= LARGE


def _hold(block: Array) -> None:
    block[:] = 1
