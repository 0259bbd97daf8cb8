from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx_files import node, save, tensor

from ge_engine import runtime
from ge_engine.free_batch import folded_for_any_batch
from ge_engine.skeleton import read_skeleton

CONSTANTS = {"zero": np.int64([0]), "one": np.int64([1]), "four": np.int64([4]), "rest": np.int64([-1])}
BATCH = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"])]


def freed(path: Path, nodes: list[Any], dims: tuple[Any, ...] = ("batch", 4, 6)) -> tuple[Any, set[str]]:
    """The graph for any batch, after it gave the model's own bytes at five sizes, and its operators."""
    model = save(path / "m.onnx", nodes, [tensor("x", dims)], [tensor("y", None)], CONSTANTS)
    graph = folded_for_any_batch(read_skeleton(str(model)).model, {"x": dims[1:]})
    sessions = [runtime.session(source, threads=1) for source in (model, graph)]
    for size in (1, 2, 3, 5, 8):
        x = np.random.default_rng(size).random((size, *dims[1:]), np.float32)
        want, got = (session.run(None, {"x": x})[0] for session in sessions)
        assert got.tobytes() == want.tobytes()
        assert got.shape == want.shape
    return graph, {entry.op_type for entry in graph.graph.node}


def test_a_reshape_to_the_batch_keeps_it_with_0(tmp_path: Path) -> None:
    nodes = [*BATCH, node("Concat", ["n", "rest"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])]
    _, operators = freed(tmp_path, nodes)
    assert operators == {"Reshape"}


def test_a_reshape_that_joins_the_batch_with_another_axis_takes_what_is_left(tmp_path: Path) -> None:
    nodes = [
        *BATCH,
        node("Mul", ["n", "four"], ["m"]),
        node("Concat", ["m", "six"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["j"]),
        node("Softmax", ["j"], ["p"]),
        node("Concat", ["n", "four", "six"], ["u"], axis=0),
        node("Reshape", ["p", "u"], ["y"]),
    ]
    nodes.insert(0, node("Constant", [], ["six"], value_ints=[6]))
    _, operators = freed(tmp_path, nodes)
    assert operators == {"Reshape", "Softmax"}


def test_a_constant_of_the_batchs_size_is_computed_when_it_runs(tmp_path: Path) -> None:
    nodes = [
        *BATCH,
        node("Concat", ["n", "four", "one"], ["column"], axis=0),
        node("ConstantOfShape", ["column"], ["zeros"]),
        node("Concat", ["x", "zeros"], ["y"], axis=2),
    ]
    _, operators = freed(tmp_path, nodes)
    assert operators == {"Shape", "Gather", "Concat", "ConstantOfShape"}


def test_nodes_that_do_not_touch_the_batch_are_folded_away(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "one"], ["c"]),
        node("Cast", ["c"], ["f"], to=1),
        node("Mul", ["x", "f"], ["y"]),
    ]
    _, operators = freed(tmp_path, nodes)
    assert operators == {"Mul"}
