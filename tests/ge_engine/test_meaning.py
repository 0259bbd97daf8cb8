from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper
from onnx_files import node, onnx_model, tensor

from ge_engine.meaning import Table, id_tables, probabilities_by
from ge_engine.skeleton import read_skeleton

IDS = tensor("ids", ("batch", 3), np.int64)
OUT = tensor("y", ("batch", 3))


def test_a_table_is_found_behind_what_only_moves_ids_and_the_smallest_counts() -> None:
    nodes = [
        node("Cast", ["ids"], ["small"], to=6),
        node("Unsqueeze", ["small", "one"], ["apart"]),
        node("Identity", ["words"], ["same"]),
        node("Gather", ["same", "apart"], ["a"]),
        node("Gather", ["few", "ids"], ["b"], axis=1),
    ]
    words = {"words": np.zeros((9, 4), np.float32), "few": np.zeros((2, 7), np.float32), "one": np.int64([1])}
    assert id_tables(onnx_model(nodes, [IDS], [OUT], words).graph) == {"ids": Table("few", 7)}


def test_a_quantized_table_is_found() -> None:
    nodes = [
        node("Cast", ["words"], ["wide"], to=1),
        node("Mul", ["wide", "scale"], ["table"]),
        node("Gather", ["table", "ids"], ["y"]),
    ]
    weights = {"words": np.zeros((9, 4), np.int8), "scale": np.ones((9, 1), np.float32)}
    assert id_tables(onnx_model(nodes, [IDS], [OUT], weights).graph) == {"ids": Table("words", 9)}


@pytest.mark.parametrize(
    "bounding",
    [
        [node("Mul", ["ids", "ids"], ["m"]), node("Gather", ["words", "m"], ["y"])],
        [node("Gather", ["ids", "one"], ["m"]), node("Cast", ["m"], ["y"], to=1)],
    ],
    ids=["ids that are calculated with", "ids that are picked from"],
)
def test_what_is_no_id_as_it_is_has_no_table(bounding: list[object]) -> None:
    weights = {"words": np.zeros(9, np.float32), "one": np.int64([1])}
    assert id_tables(onnx_model(bounding, [IDS], [OUT], weights).graph) == {}


def test_a_heavy_constant_is_a_table_too(tmp_path: Path) -> None:
    value = np.zeros((5000, 8), np.float32)
    nodes = [
        node("Constant", [], ["words"], value=numpy_helper.from_array(value)),
        node("Gather", ["words", "ids"], ["y"]),
    ]
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_model(nodes, [IDS], [tensor("y", ("batch", 3, 8))]).SerializeToString())
    assert id_tables(read_skeleton(str(path)).model.graph)["ids"].rows == 5000


@pytest.mark.parametrize("last", ["Softmax", "Sigmoid"])
def test_probabilities_are_seen_behind_what_only_moves_them(last: str) -> None:
    nodes = [node(last, ["x"], ["p"]), node("Flatten", ["p"], ["y"]), node("Neg", ["p"], ["n"])]
    outputs = [tensor("y", ("batch", 4)), tensor("n", ("batch", 4))]
    graph = onnx_model(nodes, [tensor("x", ("batch", 4))], outputs).graph
    assert (probabilities_by(graph, "y"), probabilities_by(graph, "n")) == (last, "")
