from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_files import node, save, tensor

from ge_engine.row_independence import mixing_node
from ge_engine.samples import id_bounds
from ge_engine.verify import Runner

ROWS = (("x", "float32", (3, 4)),)


def mixes(path: Path, nodes: list[Any], weights: dict[str, Any] | None = None) -> str | None:
    made = save(path / "m.onnx", nodes, [tensor("x", ("n", 4))], [tensor("y", None)], weights)
    return mixing_node(str(made), ROWS, {})


def test_a_layer_keeps_rows_apart(tmp_path: Path) -> None:
    weights = {"w": np.random.default_rng(0).random((4, 4), np.float32)}
    nodes = [node("MatMul", ["x", "w"], ["m"], name="m"), node("Softmax", ["m"], ["y"], name="s")]
    assert mixes(tmp_path, nodes, weights) is None


def test_dynamic_quantization_mixes_rows_and_is_named(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], ["r"], name="relu"),
        node("DynamicQuantizeLinear", ["r"], ["q", "scale", "zero"], name="quantize"),
        node("DequantizeLinear", ["q", "scale", "zero"], ["y"], name="back"),
    ]
    assert mixes(tmp_path, nodes) == "quantize"


def test_dynamic_quantization_of_weights_does_no_harm(tmp_path: Path) -> None:
    nodes = [
        node("DynamicQuantizeLinear", ["w"], ["q", "scale", "zero"], name="quantize"),
        node("DequantizeLinear", ["q", "scale", "zero"], ["v"], name="back"),
        node("MatMul", ["x", "v"], ["y"], name="matmul"),
    ]
    assert mixes(tmp_path, nodes, {"w": np.eye(4, dtype=np.float32)}) is None


@pytest.mark.parametrize("reverse", [0, 1])
def test_a_sum_that_runs_along_the_batch_is_found_in_both_directions(tmp_path: Path, reverse: int) -> None:
    nodes = [
        node("Abs", ["x"], ["a"], name="abs"),
        node("CumSum", ["a", "zero"], ["c"], name="sum", reverse=reverse, exclusive=1),
        node("Add", ["a", "c"], ["y"], name="add"),
    ]
    assert mixes(tmp_path, nodes, {"zero": np.array(0)}) == "sum"


@pytest.mark.parametrize(("op", "first"), [("Softmax", "mix"), ("LpNormalization", "mix")])
def test_normalising_over_the_batch_is_found(tmp_path: Path, op: str, first: str) -> None:
    nodes = [node("Neg", ["x"], ["a"], name="neg"), node(op, ["a"], ["y"], name="mix", axis=0)]
    assert mixes(tmp_path, nodes) == first


def test_a_maximum_over_the_batch_is_found_behind_a_transpose(tmp_path: Path) -> None:
    nodes = [
        node("Transpose", ["x"], ["t"], name="turn"),
        node("ReduceMax", ["t"], ["m"], name="max", axes=[1], keepdims=1),
        node("Div", ["t", "m"], ["d"], name="divide"),
        node("Transpose", ["d"], ["y"], name="back"),
    ]
    assert mixes(tmp_path, nodes) == "back"  # the first whose rows are the batch's


def test_a_batch_of_one_cannot_mix(tmp_path: Path) -> None:
    nodes = [node("Softmax", ["x"], ["y"], name="mix", axis=0)]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (1, 4))], [tensor("y", (1, 4))])
    assert mixing_node(str(path), (("x", "float32", (1, 4)),), {}) is None


def test_ids_stay_within_their_tables(tmp_path: Path) -> None:
    """Tables of 7 and 400 rows: each input is given ids as large as it takes."""
    random = np.random.default_rng(0)
    tables = {"small": random.random((7, 3), np.float32), "large": random.random((400, 3), np.float32)}
    nodes = [
        node("Gather", ["small", "types"], ["s"], name="look_small"),
        node("Gather", ["large", "ids"], ["l"], name="look_large"),
        node("Add", ["s", "l"], ["h"], name="join"),
        node("ReduceMax", ["h"], ["y"], axes=[1], name="max"),
    ]
    inputs = [tensor(name, ("n", 5), np.int64) for name in ("types", "ids")]
    tensors = tuple((name, "int64", (3, 5)) for name in ("types", "ids"))
    path = save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", None)], tables)
    bounds = id_bounds(tensors, Runner(path))
    assert bounds == {"types": 5, "ids": 300}
    assert mixing_node(str(path), tensors, bounds) is None
    nodes[3:] = [node("ReduceMax", ["h"], ["m"], axes=[0], name="max"), node("Add", ["h", "m"], ["y"], name="add")]
    path = save(tmp_path / "n.onnx", nodes, inputs, [tensor("y", None)], tables)
    assert mixing_node(str(path), tensors, bounds) == "add"
