"""Small models of every form of head, as exporters write them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx_files import node, save, tensor


def head(
    path: Path, values: int, *, name: str = "y", size: Any = (32, 32), last: str = "Identity", **more: Any
) -> Path:
    """A picture [batch,3,height,width] to so many values."""
    weights = {"w": np.random.default_rng(0).normal(size=(3, values)).astype(np.float32)}
    nodes = [
        node("GlobalAveragePool", ["x"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("MatMul", ["f", "w"], ["m"]),
        node(last, ["m"], [name]),
    ]
    return save(path, nodes, [tensor("x", ("batch", 3, *size))], [tensor(name, ("batch", values))], weights, **more)


def net(path: Path, nodes: list[Any], x: Any, y: Any, weights: Mapping[str, Any] | None = None, **more: Any) -> Path:
    given = x if isinstance(x, list) else [x]
    return save(path, nodes, given, y if isinstance(y, list) else [y], weights or {}, **more)


def yolo(path: Path, rows: int = 9, size: Any = ("h", "w"), **more: Any) -> Path:
    """Of YOLO nothing but the form of its head: anchors at the strides 8, 16 and 32."""
    strides = (8, 16, 32)
    nodes = [node("Conv", ["x", f"k{s}"], [f"c{s}"], strides=[s, s]) for s in strides]
    nodes += [node("Reshape", [f"c{s}", "row"], [f"r{s}"]) for s in strides]
    nodes += [node("Concat", [f"r{s}" for s in strides], ["y"], axis=2)]
    weights = {f"k{s}": np.full((rows, 3, s, s), 1e-3, np.float32) for s in strides}
    x = tensor("x", ("n", 3, *size))
    return net(path, nodes, x, tensor("y", ("n", rows, "anchors")), {**weights, "row": np.int64([0, rows, -1])}, **more)


def same_size(path: Path, dtype: Any, dims: Any, **more: Any) -> Path:
    """x to y, no value changed, as a net with one Identity."""
    return net(path, [node("Identity", ["x"], ["y"])], tensor("x", dims, dtype), tensor("y", dims, dtype), **more)


def ids(path: Path, names: tuple[str, ...], dtype: Any = np.int64, length: Any = 6, *, pooled: bool = True) -> Path:
    """Ids, and what goes with them, to a vector, or one a token."""
    nodes = [node("Gather", ["table", names[0]], ["v0"])]
    for index, name in enumerate(names[1:]):  # whatever else there is has to be read
        nodes += [node("Cast", [name], [f"f{index}"], to=1), node("ReduceSum", [f"f{index}"], [f"s{index}"])]
        nodes += [node("Mul", [f"s{index}", "zero"], [f"z{index}"])]
        nodes += [node("Add", [f"v{index}", f"z{index}"], [f"v{index + 1}"])]
    last = f"v{len(names) - 1}"
    nodes += [node("ReduceMean", [last], ["y"], axes=[1], keepdims=0) if pooled else node("Identity", [last], ["y"])]
    weights = {"table": np.eye(200, 4, dtype=np.float32), "zero": np.float32(0)}
    inputs = [tensor(name, ("n", length), dtype) for name in names]
    return net(path, nodes, inputs, tensor("y", ("n", 4) if pooled else ("n", length, 4)), weights)
