from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_files import model_stage, node, save, tensor

from ge_engine.build import build
from ge_engine.fold import folded
from ge_engine.gears import Gears
from ge_engine.skeleton import read_skeleton
from ge_engine.weights import is_heavy
from ops import BuildError, TensorSpec


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


def cn_clip_reshapes(path: Path) -> Path:
    """x [n, t, 64] split into heads and joined again, with the sizes worked out by Mod as in an export of CN-CLIP."""
    constants = {"zero": [0], "one": [1], "two": [2], "heads": [8], "width": [64], "many": [1_000_000], "left": [-1]}
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Gather", ["s", "one"], ["t"]),
        node("Mul", ["n", "heads"], ["rows"]),
        node("Mod", ["rows", "many"], ["rows_"]),
        node("Mod", ["width", "many"], ["width_"]),
        node("Div", ["width_", "heads"], ["depth"]),
        node("Concat", ["t", "rows_", "depth"], ["split"], axis=0),
        node("Transpose", ["x"], ["tokens"], perm=[1, 0, 2]),
        node("Reshape", ["tokens", "split"], ["attended"]),
        node("Mod", ["t", "many"], ["t_"]),
        node("Mod", ["n", "many"], ["n_"]),
        node("Concat", ["t_", "n_", "left"], ["join"], axis=0),
        node("Reshape", ["attended", "join"], ["joined"]),
        node("Transpose", ["joined"], ["y"], perm=[1, 0, 2]),
    ]
    weights = {name: np.int64(value) for name, value in constants.items()}
    return save(path, nodes, [tensor("x", ("n", "t", 64))], [tensor("y", None)], weights)


def test_the_mod_nodes_of_cn_clip_are_gone_at_each_gear(tmp_path: Path) -> None:
    path = cn_clip_reshapes(tmp_path / "m.onnx")
    assert [entry.op_type for entry in onnx.load(path).graph.node].count("Mod") == 4
    built = build(model_stage(path, TensorSpec("float32", (5, 64))), Gears.of_batches((1, 2, 4)), tmp_path / "built")
    x = np.random.default_rng(0).random((4, 5, 64), np.float32)
    for file, n in [*((graph.path, gear.batch) for gear, graph in built.static.items()), (built.shared[()], 3)]:
        kinds = {entry.op_type for entry in onnx.load(file).graph.node}
        assert kinds <= {"Transpose", "Reshape", "Identity"}
        (y,) = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, {"x": x[:n]})
        np.testing.assert_array_equal(y, x[:n])  # what is split and joined again is as it was
