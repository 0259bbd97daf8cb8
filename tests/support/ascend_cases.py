"""Pipelines to run on the simulated card, and the card for a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tiny
from onnx_files import node, save, tensor
from photos import scene

import ops
from ge_engine import Model
from ops import TensorSpec
from pipeline import Pipeline
from pipeline.load import load

ROOT = Path(__file__).parents[2]
GEARS = (1, 2, 4, 8)


def yolo_like(folder: Path) -> Pipeline:
    """As the yolo11 example, at 96 x 96: a head of [84, 144] from one convolution."""
    weights = np.random.default_rng(4).normal(size=(84, 3, 8, 8)).astype(np.float32)
    nodes = [
        node("Conv", ["x", "w"], ["c"], strides=[8, 8], kernel_shape=[8, 8]),
        node("Reshape", ["c", "shape"], ["r"]),
        node("Sigmoid", ["r"], ["y"]),
    ]
    path = folder / "head.onnx"
    constants = {"w": weights, "shape": np.int64([0, 84, 144])}
    save(path, nodes, [tensor("x", ("batch", 3, 96, 96))], [tensor("y", ("batch", 84, 144))], constants)
    pipeline = Pipeline("yolo_like")
    image, transform = ops.Letterbox(height=96, width=96)(pipeline.input("image", TensorSpec("uint8", ("H", "W", 3))))
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    boxes, scores, classes = ops.YoloBoxes(conf_threshold=0.5)(Model(path)(x), transform)
    pipeline.output(boxes=boxes, scores=scores, classes=classes)
    return pipeline


def chain(folder: Path) -> Pipeline:
    """Two models, one behind the other, and a third behind an op that runs on the host."""
    dense = [
        node("MatMul", ["x", "w"], ["m"]),
        node("Tanh", ["m"], ["y"]),
    ]
    models = []
    for number, (size, made) in enumerate([(8, 6), (6, 8), (8, 3)]):
        weights = np.random.default_rng(number).normal(size=(size, made)).astype(np.float32)
        path = folder / f"dense_{number}.onnx"
        save(path, dense, [tensor("x", ("batch", size))], [tensor("y", ("batch", made))], {"w": weights})
        models.append(Model(path))
    pipeline = Pipeline("chain")
    middle = models[1](models[0](pipeline.input("x", tiny.VECTOR)))
    pipeline.output(y=models[2](tiny.Scale(3.0)(middle)), middle=middle)
    return pipeline


def cnclip(folder: Path) -> Any:
    """The example, both towers."""
    return load(str(ROOT / "examples/cnclip/graph.py"))


CASES = {"yolo": yolo_like, "cnclip": cnclip, "chain": chain}


def samples(case: str, count: int) -> list[Mapping[str, Any]]:
    if case == "chain":
        return list(tiny.vectors(count))
    pictures = [scene(40 + 3 * (seed % 16), 95 - 5 * (seed % 16), seed) for seed in range(count)]
    if case == "yolo":
        return [{"image": picture} for picture in pictures]
    words = ("一只猫", "一杯咖啡", "摩托车", "", "火箭发射", "a cat", "网页", "公共汽车")
    encoded = [ops_png(picture) for picture in pictures]
    return [{"image": data, "text": words[index % len(words)]} for index, data in enumerate(encoded)]


def ops_png(picture: Any) -> bytes:
    import cv2

    return bytes(cv2.imencode(".png", picture)[1])
