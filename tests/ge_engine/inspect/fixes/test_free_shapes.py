from __future__ import annotations

from pathlib import Path

import model_zoo
import numpy as np
from mended import mended, run
from onnx_files import node, save, tensor


def test_a_batch_that_only_the_declaration_fixes_becomes_any(tmp_path: Path) -> None:
    model_zoo.dense(tmp_path / "m.onnx", batch=1)
    done = mended(tmp_path / "m.onnx")
    assert done.made["shapes"].done[0] == "input 'x' declared float32[1, 8]: now [batch, 8]"
    assert done.ends == {"x": "float32[batch, 8]", "y": "float32[batch, 4]"}
    x = np.random.default_rng(0).random((3, 8), np.float32)
    together = done(x=x)["y"]
    for row in range(3):
        np.testing.assert_allclose(together[row], run(tmp_path / "m.onnx", x=x[row : row + 1])["y"][0], rtol=1e-6)


def test_an_examples_shape_becomes_any_batch_height_and_width(tmp_path: Path) -> None:
    nodes = [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (10, 3, 32, 32))], [tensor("y", (10, 3, 16, 16))])
    done = mended(path)
    assert done.ends == {"x": "float32[batch, 3, height, width]", "y": "float32[batch, 3, height/2, width/2]"}
    assert done(x=np.ones((1, 3, 8, 6), np.float32))["y"].shape == (1, 3, 4, 3)
    assert {"x": (10, 3, 32, 32)} in done.repaired.proof.points
    assert {"x": (2, 3, 64, 64)} in done.repaired.proof.points


def test_height_and_width_of_one_picture_stay(tmp_path: Path) -> None:
    model_zoo.picture(tmp_path / "m.onnx", (1, 3, 32, 32))
    assert mended(tmp_path / "m.onnx").ends["x"] == "float32[batch, 3, 32, 32]"


def test_a_batch_whose_rows_depend_on_each_other_stays(tmp_path: Path) -> None:
    nodes = [node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1), node("Sub", ["x", "mean"], ["y"])]
    done = mended(save(tmp_path / "m.onnx", nodes, [tensor("x", (4, 8))], [tensor("y", (4, 8))]))
    (fixed,) = (one for one in done.repaired.fixes if one.name == "shapes")
    assert fixed.proof is None
    assert "other answers" in fixed.why_not
    assert done.ends == {"x": "float32[4, 8]", "y": "float32[4, 8]"}


def test_a_declared_output_that_is_wrong_is_declared_as_it_is(tmp_path: Path) -> None:
    nodes = [node("Transpose", ["x"], ["y"], perm=[0, 2, 1])]
    done = mended(save(tmp_path / "m.onnx", nodes, [tensor("x", ("n", 2, 3))], [tensor("y", ("n", 3, 5))]))
    assert done.ends["y"] == "float32[n, 3, 2]"
    assert done.made["shapes"].done == ("output 'y' declared [n, 3, 5]: now [n, 3, 2]",)
    left = mended(tmp_path / "m.onnx", skip=["shapes"])
    assert left.ends["y"] == "float32[n, 3, 5]"  # as it was, and no other fix is to blame for it
