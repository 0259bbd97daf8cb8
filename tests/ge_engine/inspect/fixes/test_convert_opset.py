from __future__ import annotations

from pathlib import Path

from mended import mended
from onnx_files import node, save, tensor

ENDS = [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))]


def test_an_opset_that_ge_does_not_know_is_converted(tmp_path: Path) -> None:
    done = mended(save(tmp_path / "m.onnx", [node("Softmax", ["x"], ["y"])], *ENDS, opset=21, ir=10))
    assert done.made["opset"].done == ("opset 21 converted to 18", "IR 10 written as 8")
    assert (done.model.opset_import[0].version, done.model.ir_version) == (18, 8)


def test_an_old_one_is_raised(tmp_path: Path) -> None:
    done = mended(save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ENDS, opset=7, ir=4))
    assert done.made["opset"].done == ("opset 7 converted to 13",)


def test_what_cannot_be_converted_says_why_and_stays(tmp_path: Path) -> None:
    nodes = [node("Attention", ["x", "x", "x"], ["y"])]
    dims = ("batch", 2, 3, 4)
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", dims)], [tensor("y", dims)], opset=23, ir=10)
    done = mended(path, skip=["operators"])
    (fixed,) = (one for one in done.repaired.fixes if one.name == "opset")
    assert fixed.proof is None
    assert "onnx cannot convert it: " in fixed.why_not
    assert done.model.opset_import[0].version == 23
