from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from npu_ge_models import gears, pool_model, program, table_model, tanh_model
from onnx_files import node, save, tensor

from ge_engine.npu_ge.ports import TRITON
from ops import DeviceError, SpecError


def rows(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)


def test_a_run_gives_the_bytes_of_onnxruntime(tmp_path: Path) -> None:
    path = tanh_model(tmp_path / "m.onnx")
    plain = onnxruntime.InferenceSession(path)
    run = program(path, max_batch_size=8).run
    for count in (3, 8, 1):
        x = rows(count, seed=count)
        assert run({"x": x})["y"].tobytes() == plain.run(None, {"x": x})[0].tobytes()


def test_outputs_stand_in_memory_that_is_used_again(tmp_path: Path) -> None:
    run = program(tanh_model(tmp_path / "m.onnx"), max_batch_size=8).run
    first = run({"x": rows(8)})["y"]
    second = run({"x": rows(2)})["y"]
    assert second.__array_interface__["data"] == first.__array_interface__["data"]


def test_a_shape_outside_the_gears_is_refused_and_the_next_one_runs(tmp_path: Path) -> None:
    run = program(tanh_model(tmp_path / "m.onnx"), max_batch_size=4, **gears("x:-1,8", "1;2;4")).run
    with pytest.raises(SpecError, match="E13025"):
        run({"x": rows(3)})
    assert run({"x": rows(4)})["y"].shape == (4, 4)


def test_a_static_model_runs_its_rows_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    nodes = [node("ReduceMax", ["x"], ["m"], axes=[0], keepdims=1), node("Sub", ["x", "m"], ["y"])]
    save(path, nodes, [tensor("x", ("batch", 2))], [tensor("y", ("batch", 2))])
    x = np.float32([[1, 2], [3, 4]])
    assert program(path, max_batch_size=4).run({"x": x})["y"].tolist() == [[-2, -2], [0, 0]]
    assert program(path, max_batch_size=4, static_model="1").run({"x": x})["y"].tolist() == [[0, 0], [0, 0]]
    assert program(path, static_model="1").run({"x": x})["y"].tolist() == [[0, 0], [0, 0]]


def test_no_rows_are_an_answer_without_rows(tmp_path: Path) -> None:
    assert program(tanh_model(tmp_path / "m.onnx")).run({"x": rows(0)})["y"].shape == (0, 4)


def test_sizes_that_follow_the_picture_are_computed_before_the_run(tmp_path: Path) -> None:
    run = program(pool_model(tmp_path / "m.onnx")).run
    for height, width in ((4, 6), (9, 5), (2, 2)):
        x = np.random.default_rng(height).random((1, 3, height, width), np.float32)
        windows = x[:, :, : height // 2 * 2, : width // 2 * 2].reshape(1, 3, height // 2, 2, width // 2, 2)
        assert np.array_equal(run({"x": x})["y"], windows.max((3, 5)).reshape(1, 3, -1).transpose(0, 2, 1))


def test_an_expression_that_is_not_the_graphs_is_found_out(tmp_path: Path) -> None:
    run = program(pool_model(tmp_path / "m.onnx", name="height*width/4")).run
    assert run({"x": np.ones((1, 3, 4, 6), np.float32)})["y"].shape == (1, 6, 3)
    with pytest.raises(DeviceError):
        run({"x": np.ones((1, 3, 5, 5), np.float32)})


def test_a_failing_run_leaves_the_model_usable(tmp_path: Path) -> None:
    run = program(table_model(tmp_path / "m.onnx"), max_batch_size=4).run
    with pytest.raises(DeviceError, match=r"an id is 99, and the table has 10 rows"):
        run({"ids": np.int64([[0, 1, 99]])})
    assert run({"ids": np.int64([[0, 1, 9]])})["y"].shape == (1, 3)


@pytest.mark.parametrize("dtype", sorted(TRITON))
def test_every_type_goes_in_and_out(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "m.onnx"
    save(path, [node("Identity", ["x"], ["y"])], [tensor("x", ("n", 3), dtype)], [tensor("y", ("n", 3), dtype)])
    x = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    y = program(path, max_batch_size=4).run({"x": x})["y"]
    assert y.dtype == x.dtype
    assert np.array_equal(y, x)
