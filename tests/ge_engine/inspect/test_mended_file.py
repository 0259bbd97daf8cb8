from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_files import node, save, tensor

from ge_engine.inspect.mended_file import check_place, write_mended
from ge_engine.skeleton import read_loosely
from ops import WrongUse


@pytest.fixture
def model(tmp_path: Path) -> Path:
    weights = {"w": np.arange(4000, dtype=np.float32).reshape(1000, 4)}
    ports = [tensor("x", ("batch", 1000))], [tensor("y", ("batch", 4))]
    return save(tmp_path / "m.onnx", [node("MatMul", ["x", "w"], ["y"])], *ports, weights)


@pytest.mark.parametrize("apart", [False, True])
def test_weights_are_inside_or_in_a_file_of_their_own(apart: bool, model: Path) -> None:
    out = model.with_name("out.onnx")
    read = read_loosely(str(model))
    written = write_mended(read, out, apart)
    assert [path.name for path in written] == (["out.onnx", "out.onnx.data"] if apart else ["out.onnx"])
    (tensor_,) = onnx.load(out).graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor_).ravel(), np.arange(4000, dtype=np.float32))
    assert read == read_loosely(str(model))  # what was given is as it was
    assert not [path for path in model.parent.iterdir() if path.name.startswith(".")]


def test_a_failure_leaves_what_was_there(model: Path) -> None:
    out = model.with_name("out.onnx")
    out.write_bytes(b"old")
    read = read_loosely(str(model))
    model.unlink()  # the weights are read from here
    with pytest.raises(OSError, match=r"m\.onnx"):
        write_mended(read, out, apart=False)
    assert [path.name for path in model.parent.iterdir()] == ["out.onnx"]
    assert out.read_bytes() == b"old"


def test_a_place_has_to_be_one(model: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="no/such is no folder"):
        check_place(tmp_path / "no" / "such" / "out.onnx", str(model))
    with pytest.raises(WrongUse, match="is a folder"):
        check_place(tmp_path, str(model))
    with pytest.raises(WrongUse, match="is the model itself"):
        check_place(model, str(model))
    check_place(tmp_path / "out.onnx", str(model))
