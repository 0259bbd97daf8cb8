from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mended import mended, run
from onnx_files import node, save, tensor


@pytest.mark.parametrize(
    ("before", "after"), [(np.float64, "float32"), (np.float16, "float32"), (np.bool_, "uint8"), (np.uint32, "int64")]
)
def test_ends_of_types_that_npu_ge_does_not_read_are_cast_and_keep_their_names(
    before: Any, after: str, tmp_path: Path
) -> None:
    ports = [tensor("x", ("batch", 4), before)], [tensor("y", ("batch", 4), before)]
    path = save(tmp_path / "m.onnx", [node("Identity", ["x"], ["y"])], *ports)
    done = mended(path)
    assert done.made["types"].done == (
        f"input 'x' was {np.dtype(before).name}: now {after}",
        f"output 'y' was {np.dtype(before).name}: now {after}",
    )
    assert done.ends == {"x": f"{after}[batch, 4]", "y": f"{after}[batch, 4]"}
    x = np.array([[0, 1, 1, 0]])
    want = run(path, x=x.astype(before))["y"]
    np.testing.assert_array_equal(done(x=x.astype(after))["y"], want.astype(after))


def test_an_answer_in_half_precision_is_compared_in_half_precision(tmp_path: Path) -> None:
    """A CPU computes it in float32, and the Cast behind it may take the place of the rounding."""
    ports = [tensor("x", ("batch", 64), np.float16)], [tensor("y", ("batch", 8), np.float16)]
    weights = {"w": np.random.default_rng(0).normal(size=(64, 8)).astype(np.float16)}
    done = mended(save(tmp_path / "m.onnx", [node("MatMul", ["x", "w"], ["y"])], *ports, weights))
    assert done.ends == {"x": "float32[batch, 64]", "y": "float32[batch, 8]"}
    proof = done.made["types"].proof
    assert proof is not None
    assert proof.deviation == 0


def test_others_are_left_alone(tmp_path: Path) -> None:
    ports = [tensor("x", ("batch", 4), np.int64)], [tensor("y", ("batch", 4), np.int64)]
    assert "types" not in mended(save(tmp_path / "m.onnx", [node("Identity", ["x"], ["y"])], *ports)).made
