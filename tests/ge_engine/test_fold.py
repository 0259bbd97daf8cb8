from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_files import node, save, tensor

from ge_engine.fold import folded
from ge_engine.skeleton import read_skeleton
from ge_engine.weights import is_heavy
from ops import BuildError


def attention(path: Path) -> onnx.ModelProto:
    """x [n, t, 64] through a dense layer, reshaped by sizes that it computes itself."""
    nodes = [
        node("MatMul", ["x", "w"], ["m"]),
        node("Add", ["m", "b"], ["a"]),
        node("Shape", ["a"], ["s"]),
        node("Slice", ["s", "zero", "two"], ["head"]),
        node("Concat", ["head", "parts"], ["target"], axis=0),
        node("Reshape", ["a", "target"], ["y"]),
    ]
    random = np.random.default_rng(0)
    weights = {
        "w": random.random((64, 64), np.float32),
        "b": random.random(64, np.float32),
        "zero": np.int64([0]),
        "two": np.int64([2]),
        "parts": np.int64([8, 8]),
    }
    return read_skeleton(str(save(path, nodes, [tensor("x", ("n", "t", 64))], [tensor("y", None)], weights))).model


def test_what_computes_a_shape_is_gone_and_nothing_is_fused(tmp_path: Path) -> None:
    graph = folded(attention(tmp_path / "m.onnx"), {"x": (2, 5, 64)})
    assert [entry.op_type for entry in graph.graph.node] == ["MatMul", "Add", "Reshape"]
    assert all(entry.name for entry in graph.graph.node)
    assert {entry.domain for entry in graph.opset_import} == {""}
    assert graph.ir_version == 8


def test_weights_stay_the_references_that_they_were(tmp_path: Path) -> None:
    model = attention(tmp_path / "m.onnx")
    graph = folded(model, {"x": (2, 5, 64)})
    before, after = ([t for t in m.graph.initializer if is_heavy(t)] for m in (model, graph))
    assert before == after
    assert [value.name for value in graph.graph.input] == ["x"]


def test_sizes_that_the_graph_does_not_take_are_refused_with_both(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"the graph does not take x \[2, 5, 63\]: .*MatMul"):
        folded(attention(tmp_path / "m.onnx"), {"x": (2, 5, 63)})
