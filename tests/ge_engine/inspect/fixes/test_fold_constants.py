from __future__ import annotations

from pathlib import Path

import numpy as np
from mended import mended, run
from model_zoo import mod_of_the_width
from onnx_files import node, save, tensor


def test_a_chain_with_mod_folds_at_the_size_that_was_given_and_the_batch_stays_free(tmp_path: Path) -> None:
    done = mended(mod_of_the_width(tmp_path / "m.onnx"), (1, 4), [{"width": 8}])
    assert done.operators == ["Slice"]
    assert done.made["constants"].done == (
        "3 nodes that static shapes make constant at width 8: folded (1 Shape, 1 Mod, 1 Sub)",
    )
    assert done.ends == {"x": "float32[batch, 8]", "y": "float32[batch, 6]"}
    x = np.random.default_rng(0).random((5, 8), np.float32)
    assert done(x=x)["y"].tobytes() == run(tmp_path / "m.onnx", x=x)["y"].tobytes()


def test_several_sizes_stay_open(tmp_path: Path) -> None:
    done = mended(mod_of_the_width(tmp_path / "m.onnx"), (1,), [{"width": 8}, {"width": 9}])
    assert "constants" not in done.made
    assert done.ends["x"] == "float32[batch, width]"


def test_a_fixed_batch_stays_fixed(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["rows"], axis=0),
        node("Concat", ["rows", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["flat"]),
        node("Reshape", ["flat", "two"], ["y"]),
    ]
    weights = {"zero": np.int64([0]), "rest": np.int64([6]), "two": np.int64([3, 4])}
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (2, 2, 3))], [tensor("y", (3, 4))], weights)
    done = mended(path)
    assert done.operators == ["Reshape"]
    assert done.ends == {"x": "float32[2, 2, 3]", "y": "float32[3, 4]"}
