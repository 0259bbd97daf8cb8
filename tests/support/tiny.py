"""Small pipelines on small models, made where a test needs them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ge_engine import Model
from ge_engine.builder import GraphBuilder
from ops import Array, Edge, Graded, Op, SpecError, TensorSpec
from pipeline import Pipeline

VECTOR = TensorSpec("float32", (8,))


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


@dataclass(frozen=True)
class Scale(Op[Edge]):
    """A user's own op: y = x * factor, written in place where it is told to."""

    factor: float = 1.0

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dtype != "float32":
            raise SpecError(f"{x}: not float32", fix="cast it", input="x")
        return x

    def run(self, x: Array, out: Array | None = None) -> Array:
        return np.multiply(x, np.float32(self.factor), out=out)


@dataclass(frozen=True)
class Picky(Op[Edge]):
    """A user's own op that does not take every sample."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        if x.min() < -100:
            raise ValueError("too small")
        return x + 1


@dataclass(frozen=True)
class Same(Op[Edge]):
    """A user's own op that hands on what it is given."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        return x


@dataclass(frozen=True)
class Resized(Op[Edge]):
    """A user's own op that emits sizes: the picture cut to the largest of them that fits."""

    sizes: tuple[tuple[int, int], ...]

    def infer(self, image: TensorSpec) -> TensorSpec:
        heights, widths = zip(*self.sizes)
        return TensorSpec("uint8", (Graded("H", heights), Graded("W", widths), 3))

    def run(self, image: Array) -> Array:
        height, width = next(size for size in self.sizes if size[0] <= image.shape[0] and size[1] <= image.shape[1])
        return np.ascontiguousarray(image[:height, :width])


def vector_pipeline(folder: Path) -> Pipeline:
    """x float32[8] -> Scale on the host -> the vector model -> y float32[4]."""
    pipeline = Pipeline("vector")
    scaled = Scale(2.0)(pipeline.input("x", VECTOR))
    pipeline.output(y=Model(vector_model(folder))(scaled))
    return pipeline


def vectors(count: int, seed: int = 0) -> list[dict[str, Array]]:
    values = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return [{"x": row.copy()} for row in values]


def _write(builder: GraphBuilder, path: Path) -> Path:
    path.write_bytes(builder.model().SerializeToString())
    return path
