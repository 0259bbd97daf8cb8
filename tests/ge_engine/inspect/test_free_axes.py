from __future__ import annotations

from pathlib import Path

import model_zoo
import numpy as np
import onnx
from onnx_files import node, save, tensor

from ge_engine.inspect import facts_of
from ge_engine.inspect.free_axes import Axes


def free(path: Path) -> Axes:
    return facts_of(str(path)).free


def test_a_network_of_convolutions_takes_any_size(tmp_path: Path) -> None:
    model_zoo.picture(tmp_path / "m.onnx", (10, 3, 32, 32))
    assert free(tmp_path / "m.onnx") == {"x": (0, 2, 3)}


def test_a_weight_of_the_pictures_size_fixes_height_and_width(tmp_path: Path) -> None:
    nodes = [node("Flatten", ["x"], ["flat"]), node("MatMul", ["flat", "w"], ["y"])]
    ports = [tensor("x", (1, 3, 4, 4))], [tensor("y", (1, 2))]
    assert free(save(tmp_path / "m.onnx", nodes, *ports, {"w": np.ones((48, 2), np.float32)})) == {"x": (0,)}


def test_a_reshape_that_writes_the_batch_fixes_it(tmp_path: Path) -> None:
    ports = [tensor("x", (2, 6))], [tensor("y", (2, 2, 3))]
    path = save(tmp_path / "m.onnx", [node("Reshape", ["x", "to"], ["y"])], *ports, {"to": np.int64([2, 2, 3])})
    assert free(path) == {}


def test_what_varies_already_is_not_named(tmp_path: Path) -> None:
    model_zoo.dense(tmp_path / "m.onnx")
    assert free(tmp_path / "m.onnx") == {}


def test_inputs_whose_first_axes_differ_have_no_batch(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["a", "b"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("a", (2, 3)), tensor("b", (3, 4))], [tensor("y", (2, 4))])
    assert free(path) == {}
    assert onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2  # nothing was changed
