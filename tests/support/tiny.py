"""Small pipelines on small models, made where a test needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tiny_ops import Above, Halfway, Length, Picky, Resized, Same, Scale

from ge_engine import Model
from ge_engine.builder import GraphBuilder
from ops import Array, Letterbox, Normalize, TensorSpec
from pipeline import Pipeline

__all__ = ["Above", "Halfway", "Length", "Picky", "Resized", "Same", "Scale"]

VECTOR = TensorSpec("float32", (8,))
GEARS = (1, 2, 4, 8)


def vector_model(folder: Path, name: str = "dense", size: int = 8, seed: int = 0) -> Path:
    """x float32[size] -> y float32[4]: a Gemm and a Tanh, so every output depends on every input of its row."""
    weights = np.random.default_rng(seed).normal(size=(size, 4)).astype(np.float32)
    g = GraphBuilder(17)
    x = g.input("x", TensorSpec("float32", (size,)))
    g.output("y", g.op("Tanh", g.op("MatMul", x, g.constant(weights))), TensorSpec("float32", (4,)))
    return _write(g, folder / f"{name}.onnx")


def picture_model(folder: Path, name: str = "picture") -> Path:
    """x float32[3,H,W] -> y float32[4]: a convolution, a mean over the picture, any size."""
    weights = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32)
    g = GraphBuilder(17)
    x = g.input("x", TensorSpec("float32", (3, "height", "width")))
    features = g.op("Relu", g.op("Conv", x, g.constant(weights), pads=[1, 1, 1, 1]))
    pooled = g.op("GlobalAveragePool", features)
    g.output("y", g.op("Flatten", pooled), TensorSpec("float32", (4,)))
    return _write(g, folder / f"{name}.onnx")


def gather_model(folder: Path, name: str = "gather") -> Path:
    """ids int64[4] -> y float32[4]: a table of 10 rows; another id makes ONNX Runtime fail the whole batch."""
    table = np.random.default_rng(2).normal(size=10).astype(np.float32)
    g = GraphBuilder(17)
    ids = g.input("ids", TensorSpec("int64", (4,)))
    g.output("y", g.op("Gather", g.constant(table), ids), TensorSpec("float32", (4,)))
    return _write(g, folder / f"{name}.onnx")


def mixing_model(folder: Path, name: str = "mixing") -> Path:
    """x float32[8] -> y float32[8]: quantized with one scale over the whole batch."""
    g = GraphBuilder(17)
    x = g.input("x", VECTOR)
    quantized, scale, zero = (g.unique(f"q{i}") for i in range(3))
    node = g.op("DynamicQuantizeLinear", x)
    g.nodes[-1].output[:] = [quantized, scale, zero]
    del node
    values = [type(x)(name) for name in (quantized, scale, zero)]
    g.output("y", g.op("DequantizeLinear", *values), VECTOR)
    return _write(g, folder / f"{name}.onnx")


def vector_pipeline(folder: Path) -> Pipeline:
    """x float32[8] -> Scale on the host -> the vector model -> y float32[4]."""
    pipeline = Pipeline("vector")
    scaled = Scale(2.0)(pipeline.input("x", VECTOR))
    pipeline.output(y=Model(vector_model(folder))(scaled))
    return pipeline


def vectors(count: int, seed: int = 0) -> list[dict[str, Array]]:
    values = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return [{"x": row.copy()} for row in values]


def sized_pipeline(folder: Path) -> Pipeline:
    """image uint8[H,W,3] -> Letterbox to one of three sizes -> the picture model -> y float32[4], and the transform."""
    pipeline = Pipeline("sized")
    image, transform = Letterbox(sizes=((32, 32), (32, 16), (16, 48)))(
        pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    )
    x = Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(picture_model(folder))(x), transform=transform)
    return pipeline


def pictures(count: int) -> list[dict[str, Array]]:
    """For the sized pipeline: every size comes up."""
    rng = np.random.default_rng(3)
    shapes = [(40, 40, 3), (64, 30, 3), (20, 64, 3), (7, 7, 3)]
    return [{"image": rng.integers(0, 256, shapes[i % 4], dtype=np.uint8)} for i in range(count)]


def same(a: Any, b: Any) -> bool:
    """Whether two answers are the same, byte for byte."""
    assert isinstance(a, dict), a
    assert isinstance(b, dict), b
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() for key in a)


def _write(builder: GraphBuilder, path: Path) -> Path:
    path.write_bytes(builder.model().SerializeToString())
    return path
