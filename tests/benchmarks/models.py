"""Models made for the suites: a small one, and one as large as ViT-B/16, with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR = 8


class _Graph:
    """Nodes and weights, as they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._random = np.random.default_rng(0)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def random(self, *shape: int) -> str:
        scale = 1 / np.sqrt(shape[0] if len(shape) < 4 else np.prod(shape[1:]))
        return self.constant((self._random.standard_normal(shape, np.float32) * scale).astype(np.float32))

    def constant(self, values: Any) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def write(self, path: Path, output: str, size: int) -> Path:
        """One input x[3,224,224], one output y[size]."""
        self.nodes.append(helper.make_node("Identity", [output], ["y"], name="y"))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 224, 224])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", size])
        graph = helper.make_graph(self.nodes, path.stem, [x], [y], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR), path)
        return path


def small(folder: Path) -> Path:
    """x float32[3,224,224] -> y float32[8]: a convolution with a large stride, a fraction of a millisecond."""
    g = _Graph()
    features = g.op("Relu", g.op("Conv", "x", g.random(8, 3, 8, 8), strides=[8, 8]))
    pooled = g.op("Flatten", g.op("GlobalAveragePool", features))
    return g.write(folder / "small.onnx", pooled, 8)


def vit(folder: Path, layers: int = 12, width: int = 768, heads: int = 12) -> Path:
    """x float32[3,224,224] -> y float32[512]: the image tower of CLIP ViT-B/16, 340 MB with the defaults."""
    g = _Graph()
    patches = g.op("Conv", "x", g.random(width, 3, 16, 16), strides=[16, 16])
    tokens = g.op(
        "Transpose", g.op("Reshape", patches, g.constant(np.array([0, width, 196], np.int64))), perm=[0, 2, 1]
    )
    x = g.op("Add", tokens, g.random(1, 196, width))
    for _ in range(layers):
        x = g.op("Add", x, _attention(g, _norm(g, x, width), width, heads))
        hidden = _gelu(g, _dense(g, _norm(g, x, width), width, 4 * width))
        x = g.op("Add", x, _dense(g, hidden, 4 * width, width))
    mean = g.op("ReduceMean", _norm(g, x, width), axes=[1], keepdims=0)
    return g.write(folder / "vit.onnx", g.op("MatMul", mean, g.random(width, 512)), 512)


def _norm(g: _Graph, x: str, width: int) -> str:
    ones, zeros = (g.constant(np.full(width, value, np.float32)) for value in (1, 0))
    return g.op("LayerNormalization", x, ones, zeros, axis=-1)


def _dense(g: _Graph, x: str, size: int, made: int) -> str:
    return g.op("Add", g.op("MatMul", x, g.random(size, made)), g.random(made))


def _gelu(g: _Graph, x: str) -> str:
    """OpenAI's quick one."""
    return g.op("Mul", x, g.op("Sigmoid", g.op("Mul", x, g.constant(np.float32(1.702)))))


def _attention(g: _Graph, x: str, width: int, heads: int) -> str:
    apart = g.constant(np.array([0, 0, heads, width // heads], np.int64))
    query, key, value = (g.op("Reshape", _dense(g, x, width, width), apart) for _ in range(3))
    query, value = (g.op("Transpose", part, perm=[0, 2, 1, 3]) for part in (query, value))
    scale = g.constant(np.float32((width // heads) ** -0.5))
    scores = g.op("Mul", g.op("MatMul", query, g.op("Transpose", key, perm=[0, 2, 3, 1])), scale)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    together = g.op(
        "Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), g.constant(np.array([0, 0, width], np.int64))
    )
    return _dense(g, together, width, width)


def pooled(folder: Path, size: int) -> Path:
    """x float16[3,size,size] -> y float32[3]: the mean of every sixteenth pixel each way, so next to nothing."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["batch", 3, size, size])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])
    bounds = {"starts": [0, 0], "ends": [size, size], "axes": [2, 3], "steps": [16, 16]}
    weights = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in bounds.items()]
    nodes = [
        helper.make_node("Slice", ["x", *bounds], ["thin"], name="thin"),
        helper.make_node("Cast", ["thin"], ["wide"], name="wide", to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["wide"], ["y"], name="mean", axes=[2, 3], keepdims=0),
    ]
    graph = helper.make_graph(nodes, "pooled", [x], [y], weights)
    path = folder / "pooled.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR), path)
    return path


def of_one_size(model: Path, folder: Path, height: int = 640, width: int = 640) -> Path:
    """A model with an open height and width, as an export for one size has it: with any batch still."""
    proto = onnx.load(model)
    for value, sizes in (
        (proto.graph.input[0], {2: height, 3: width}),
        (proto.graph.output[0], {2: _anchors(height, width)}),
    ):
        for axis, size in sizes.items():
            value.type.tensor_type.shape.dim[axis].dim_value = size
    path = folder / f"{model.stem}_{height}x{width}.onnx"
    onnx.save(proto, path)
    return path


def _anchors(height: int, width: int) -> int:
    """Of YOLO's three grids."""
    return sum(height * width // stride**2 for stride in (8, 16, 32))
