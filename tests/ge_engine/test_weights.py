from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_files import node, onnx_model, tensor

from ge_engine import runtime, weights
from ge_engine.skeleton import read_skeleton
from ge_engine.weights import WeightFile

TABLE = np.random.default_rng(0).random((40, 50), np.float32)


def adding_model(*tensors: TensorProto) -> onnx.ModelProto:
    model = onnx_model(
        [node("Add", ["x", "a"], ["t"], name="n1"), node("Add", ["t", "b"], ["y"], name="n2")],
        [tensor("x", (40, 50))],
        [tensor("y", (40, 50))],
    )
    model.graph.initializer.extend(tensors)
    return model


def test_equal_weights_of_all_graphs_are_written_once_and_load_again(tmp_path: Path) -> None:
    with WeightFile(tmp_path / "stage.weights") as file:
        for name in ("one", "two"):
            model = adding_model(numpy_helper.from_array(TABLE, "a"), numpy_helper.from_array(TABLE, "b"))
            file.take(model)
            (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
    assert (tmp_path / "stage.weights").stat().st_size == TABLE.nbytes
    for name in ("one", "two"):
        (y,) = runtime.session(tmp_path / f"{name}.onnx").run(None, {"x": np.zeros_like(TABLE)})
        np.testing.assert_array_equal(y, TABLE + TABLE)


@pytest.mark.parametrize("raw", [True, False])
def test_weights_go_from_file_to_file_without_a_model_in_between(tmp_path: Path, raw: bool) -> None:
    if raw:
        big = [numpy_helper.from_array(TABLE, name) for name in "ab"]
    else:
        big = [helper.make_tensor(name, TensorProto.FLOAT, TABLE.shape, TABLE.ravel()) for name in "ab"]
    (tmp_path / "source.onnx").write_bytes(adding_model(*big).SerializeToString())
    model = read_skeleton(str(tmp_path / "source.onnx")).copy()
    with WeightFile(tmp_path / "w") as file:
        file.take(model)
    (tmp_path / "copy.onnx").write_bytes(model.SerializeToString())
    (y,) = runtime.session(tmp_path / "copy.onnx").run(None, {"x": np.zeros_like(TABLE)})
    np.testing.assert_array_equal(y, TABLE + TABLE)


def test_large_weights_start_on_a_page(tmp_path: Path) -> None:
    model = adding_model(numpy_helper.from_array(TABLE, "a"), numpy_helper.from_array(TABLE + 1, "b"))
    with WeightFile(tmp_path / "w") as file:
        file.take(model)
    assert [int(weights.entries(entry)["offset"]) % 4096 for entry in model.graph.initializer] == [0, 0]


def test_detached_weights_come_back_where_they_are_used() -> None:
    model = adding_model(numpy_helper.from_array(TABLE, "a"), numpy_helper.from_array(TABLE, "b"))
    for entry in model.graph.initializer:
        weights.refer(entry, "/nowhere", 0, TABLE.nbytes)
    heavy = weights.detach(model)
    assert [value.name for value in model.graph.input] == ["x", "a", "b"]
    assert not model.graph.initializer
    del model.graph.node[1]
    model.graph.node[0].output[0] = "y"
    weights.attach(model, heavy)
    assert [value.name for value in model.graph.input] == ["x"]
    assert [entry.name for entry in model.graph.initializer] == ["a"]
