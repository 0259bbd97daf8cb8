from __future__ import annotations

from pathlib import Path

import numpy as np
from mended import mended
from onnx_files import node, save, tensor

POOL = [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]


def test_axes_without_names_are_called_what_they_probably_are(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", POOL, [tensor("x", (None, 3, None, None))], [tensor("y", (None, 3, None, None))])
    assert mended(path).ends == {"x": "float32[batch, 3, height, width]", "y": "float32[batch, 3, height/2, width/2]"}


def test_what_an_exporter_wrote_becomes_an_expression(tmp_path: Path) -> None:
    outputs = [tensor("y", ("b", 3, "floor(h.1/2 - 1) + 1", "floor(w/2 - 1) + 1"))]
    path = save(tmp_path / "m.onnx", POOL, [tensor("x", ("b", 3, "h.1", "w"))], outputs)
    assert mended(path).ends == {"x": "float32[b, 3, height, w]", "y": "float32[b, 3, height/2, w/2]"}


def test_what_an_exporter_made_up_for_axes_without_a_name_is_no_name(tmp_path: Path) -> None:
    """As torch.onnx does, for dynamic_axes={"x": [0, 2, 3]}."""
    x = tensor("x", ("x_dynamic_axes_1", 3, "x_dynamic_axes_2", "x_dynamic_axes_3"))
    y = tensor("y", ("MaxPooly_dim_0", 3, "MaxPooly_dim_2", "MaxPooly_dim_3"))
    ends = mended(save(tmp_path / "m.onnx", POOL, [x], [y])).ends
    assert ends == {"x": "float32[batch, 3, height, width]", "y": "float32[batch, 3, height/2, width/2]"}


def test_a_name_inside_another_is_renamed_on_both_ends(tmp_path: Path) -> None:
    inputs = [tensor("a", ("batch", "seq")), tensor("b", ("batch", "seq_len"))]
    nodes = [node("Concat", ["a", "b"], ["y"], axis=1)]
    path = save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", ("batch", "seq + seq_len"))])
    ends = mended(path).ends
    assert (ends["a"], ends["b"]) == ("float32[batch, seq]", "float32[batch, seqlen]")
    assert ends["y"] == "float32[batch, seq+seqlen]"


def test_two_question_marks_are_two_axes(tmp_path: Path) -> None:
    inputs = [tensor("a", ("batch", "?")), tensor("b", ("batch", "?"))]
    nodes = [node("Concat", ["a", "b"], ["y"], axis=1)]
    ends = mended(save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", ("batch", "?"))])).ends
    assert (ends["a"], ends["b"]) == ("float32[batch, a_1]", "float32[batch, b_1]")


def test_names_that_can_be_used_stay(tmp_path: Path) -> None:
    ports = [tensor("x", ("rows", "columns"))], [tensor("y", ("rows", "columns"))]
    assert "names" not in mended(save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ports)).made


def test_a_size_that_depends_on_data_keeps_its_name(tmp_path: Path) -> None:
    nodes = [node("NonZero", ["x"], ["where"]), node("Transpose", ["where"], ["y"])]
    ports = [tensor("x", ("batch", None))], [tensor("y", ("found", 2), np.int64)]
    assert mended(save(tmp_path / "m.onnx", nodes, *ports)).ends["y"] == "int64[found, 2]"


def test_what_an_exporter_did_not_know_is_called_what_it_is(tmp_path: Path) -> None:
    """-1, and the name of onnx's own inference."""
    inputs = [tensor("x", ("unk__7", 3, -1, "width"))]
    path = save(tmp_path / "m.onnx", POOL, inputs, [tensor("y", (-1, 3, "unk__8", "unk__9"))])
    assert mended(path).ends == {"x": "float32[batch, 3, height, width]", "y": "float32[batch, 3, height/2, width/2]"}
