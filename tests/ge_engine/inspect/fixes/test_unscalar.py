from __future__ import annotations

from pathlib import Path

import numpy as np
from mended import mended, run
from onnx_files import node, save, tensor


def test_scalars_become_one_element_and_keep_their_names(tmp_path: Path) -> None:
    nodes = [node("Mul", ["x", "scale"], ["y"]), node("ReduceSum", ["y"], ["sum"], keepdims=0)]
    inputs = [tensor("x", ("batch", 4)), tensor("scale", ())]
    path = save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", ("batch", 4)), tensor("sum", ())])
    done = mended(path)
    assert done.made["scalars"].done == ("input 'scale', a scalar: now [1]", "output 'sum', a scalar: now [1]")
    assert done.ends["scale"] == "float32[1]"
    assert done.ends["sum"] == "float32[1]"
    x = np.float32([[1, 2, 3, 4]])
    got = done(x=x, scale=np.float32([3]))
    want = run(path, x=x, scale=np.array(3, np.float32))
    assert got["y"].tobytes() == want["y"].tobytes()
    np.testing.assert_array_equal(got["sum"], want["sum"].reshape(1))
