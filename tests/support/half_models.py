"""Small models that fp16 harms, and what goes into them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx_files import node, save, tensor

from ops import Array

BOOST = 30000.0


def overflowing(path: Path) -> Path:
    """x float32[batch,8] -> y float32[batch,16]: between `boost` and `calm` many values are beyond fp16."""
    weights = {
        "w": np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32),
        "k": np.float32([BOOST]),
        "bias": np.float32([0.25]),
        "low": np.float32(-50),
        "high": np.float32(50),
    }
    nodes = [
        node("MatMul", ["x", "w"], ["mixed"], name="mix"),
        node("Mul", ["mixed", "k"], ["boosted"], name="boost"),
        node("Div", ["boosted", "k"], ["calmed"], name="calm"),
        node("Add", ["calmed", "bias"], ["shifted"], name="shift"),
        node("Clip", ["shifted", "low", "high"], ["y"], name="cap"),
    ]
    return save(path, nodes, [tensor("x", ["batch", 8])], [tensor("y", ["batch", 16])], weights)


def cancelling(path: Path) -> Path:
    """x float32[batch,8] -> y float32[batch,8]: 2048 is added and taken away; in fp16 that leaves even numbers."""
    nodes = [
        node("Tanh", ["x"], ["small"], name="squash"),
        node("Add", ["small", "much"], ["large"], name="lift"),
        node("Sub", ["large", "much"], ["back"], name="lower"),
        node("Mul", ["back", "half"], ["y"], name="halve"),
    ]
    weights = {"much": np.float32([2048]), "half": np.float32([0.5])}
    return save(path, nodes, [tensor("x", ["batch", 8])], [tensor("y", ["batch", 8])], weights)


def harmless(path: Path, seed: int = 0, output: str = "y") -> Path:
    """x float32[batch,8] -> float32[batch,16]: a MatMul and a Tanh."""
    weights = {"w": np.random.default_rng(seed).normal(size=(8, 16)).astype(np.float32)}
    nodes = [node("MatMul", ["x", "w"], ["mixed"], name="mix"), node("Tanh", ["mixed"], [output], name="squash")]
    return save(path, nodes, [tensor("x", ["batch", 8])], [tensor(output, ["batch", 16])], weights)


def rows(count: int = 4) -> Array:
    return np.random.default_rng(1).normal(size=(count, 8)).astype(np.float32)
