from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from lint_case import tensor
from lint_npu import GEARS, PRECISION, found, identity, npu_config, npu_model
from onnx_files import node, save
from onnx_files import tensor as value


def test_one_onnx_file(tmp_path: Path) -> None:
    model = npu_model(tmp_path)
    identity(model / "assets" / "old.onnx")
    finding = found(model)["V01"]
    assert finding.severity == "fails"
    assert "1/model.onnx, assets/old.onnx" in finding.message


def test_a_file_has_to_be_there(tmp_path: Path) -> None:
    model = npu_model(tmp_path, onnx=False)
    assert "Model file not found: dir path" in found(model)["V01"].message
    (model / "1" / "model.ONNX").touch()
    assert "1/model.ONNX is not read" in found(model)["V01"].fix


def test_a_frozen_graph_needs_its_tensors_in_the_config(tmp_path: Path) -> None:
    model = npu_model(tmp_path, 'backend: "npu_ge"', onnx=False)
    (model / "1" / "model.pb").touch()
    assert "nothing is read from it" in found(model)["V26"].message
    text = npu_config("", inputs=[tensor("x", "-1, 4")], outputs=[tensor("y", "-1, 4")])
    (model / "config.pbtxt").write_text(text)
    assert "model_mode_TENSOR_ZERO" in found(model)["V26"].message
    (model / "config.pbtxt").write_text(npu_config())
    assert found(model) == {}
    (model / "1" / "old.pb").touch()
    assert "2 .pb files (1/model.pb, 1/old.pb)" in found(model)["V01"].message


def test_version_folders_are_not_looked_at(tmp_path: Path) -> None:
    model = npu_model(tmp_path)
    (model / "2").mkdir()
    assert found(model)["V27"].message == "versions 1, 2: npu_ge does not look at version folders"


@pytest.mark.parametrize(
    ("opset", "ir", "rule", "severity"),
    [(20, 8, "V24", "advice"), (7, 8, "V24", "advice"), (17, 12, "V28", "refused"), (24, 10, "V28", "refused")],
)
def test_opset_and_ir(opset: int, ir: int, rule: str, severity: str, tmp_path: Path) -> None:
    model = npu_model(tmp_path, onnx=False)
    identity(model / "1" / "model.onnx", opset=opset, ir=ir)
    assert found(model)[rule].severity == severity


def test_a_damaged_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    model = npu_model(tmp_path)
    (model / "1" / "model.onnx").write_bytes(b"not a model")
    finding = found(model)["V28"]
    assert finding.severity == "refused"
    assert finding.where == str(model / "1" / "model.onnx")


def test_operators_that_have_no_parser_or_run_on_the_host(tmp_path: Path) -> None:
    text = npu_config(inputs=[tensor("x", kind="INT64")], outputs=[tensor("y", kind="INT64")])
    model = npu_model(tmp_path, text, onnx=False)
    path, ends = model / "1" / "model.onnx", [value("x", ("batch", 4), np.int64)]
    save(
        path,
        [node("Mod", ["x", "x"], ["m"]), node("Mul", ["x", "m"], ["y"])],
        ends,
        [value("y", ("batch", 4), np.int64)],
    )
    assert found(model)["V30"].message.startswith("Mod, Mul on int64: ")
    floats = [value("x", ("batch", 4)), value("y", ("batch", 4), np.uint8)]
    quantized = ["y", "scale", "zero"]
    save(path, [node("DynamicQuantizeLinear", ["x"], quantized)], floats[:1], floats[1:])
    assert found(model)["V24"].message.startswith("DynamicQuantizeLinear: ")


def test_sizes_that_depend_on_data_have_no_gears(tmp_path: Path) -> None:
    outputs = [tensor("y", "2, 4", "INT64")]
    for name, values, rules in (("geared", GEARS, {"V25"}), ("plain", {}, set())):
        text = npu_config("", PRECISION | values, [tensor("x", "-1, 4")], outputs)
        model = npu_model(tmp_path / name, text, onnx=False)
        ends = [value("x", ("batch", 4))], [value("y", (2, 4), np.int64)]
        save(model / "1" / "model.onnx", [node("NonZero", ["x"], ["y"])], *ends)
        assert {rule for rule in found(model) if rule == "V25"} == rules


def test_a_model_behind_a_link_out_of_the_repository_is_not_read(tmp_path: Path) -> None:
    model = npu_model(tmp_path)
    outside = tmp_path / "outside.onnx"
    shutil.move(model / "1" / "model.onnx", outside)
    os.symlink(outside, model / "1" / "model.onnx")
    assert set(found(model)) == {"L20"}
