from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lint_case import tensor
from lint_npu import BATCH, PRECISION, found, identity, npu_config, npu_model, parameters

BARE = f'backend: "npu_ge"\n{BATCH}\n{parameters(PRECISION)}'
WHOLE = "instance_group [ { kind: KIND_CPU } ]"  # max_batch_size 0


def onnx_of(model: Path, dims: Sequence[Any], out: Sequence[Any] | None = None, kind: Any = np.float32) -> Path:
    identity(model / "1" / "model.onnx", [("x", dims, kind)], [("y", dims if out is None else out, kind)])
    return model


def whole(tmp_path: Path, dims: str, out: str, onnx: Sequence[Any], onnx_out: Sequence[Any]) -> Path:
    text = npu_config(WHOLE, inputs=[tensor("x", dims)], outputs=[tensor("y", out)])
    return onnx_of(npu_model(tmp_path, text, onnx=False), onnx, onnx_out)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([tensor("image")], "not those of the ONNX file (x)"),
        ([tensor("x"), tensor("m")], "not those of the ONNX file (x)"),
        ([tensor("x", kind="INT32")], "TYPE_INT32 here, TYPE_FP32 in the ONNX file"),
        ([tensor("x", "4, 1")], "[-1, 4, 1] with the batch, [-1, 4] in the ONNX file"),
        ([tensor("x", "5")], "[-1, 5] with the batch, [-1, 4] in the ONNX file"),
    ],
)
def test_the_config_lists_what_the_onnx_file_holds(inputs: list[str], message: str, tmp_path: Path) -> None:
    finding = found(npu_model(tmp_path, npu_config(inputs=inputs)))["V09"]
    assert finding.severity == "fails"
    assert message in finding.message


def test_tensors_are_fed_by_position(tmp_path: Path) -> None:
    text = npu_config(inputs=[tensor("mask"), tensor("ids")])
    model = npu_model(tmp_path, text, onnx=False)
    identity(model / "1" / "model.onnx", [("ids", ("batch", 4), np.float32), ("mask", ("batch", 4), np.float32)])
    assert found(model)["V09"].fix == "list ids, mask, in this order"


def test_a_config_without_tensors_is_completed_from_the_onnx_file(tmp_path: Path) -> None:
    assert found(npu_model(tmp_path, BARE)) == {}


@pytest.mark.parametrize("kind", [np.float16, np.bool_, np.uint32, np.uint64])
def test_types_that_have_to_be_listed(kind: Any, tmp_path: Path) -> None:
    model = onnx_of(npu_model(tmp_path, BARE, onnx=False), ("batch", 4), kind=kind)
    finding = found(model)["V10"]
    assert (finding.severity, finding.fix) == ("refused", "list every input and output in config.pbtxt")


def test_types_that_the_backend_never_takes(tmp_path: Path) -> None:
    model = onnx_of(npu_model(tmp_path, BARE, onnx=False), ("batch", 4), kind=np.float64)
    assert "put a Cast" in found(model)["V10"].fix


def test_scalars(tmp_path: Path) -> None:
    text = npu_config(outputs=[tensor("y"), tensor("scale")])
    model = npu_model(tmp_path, text, onnx=False)
    pair = [("x", ("batch", 4), np.float32), ("s", (), np.float32)]
    identity(model / "1" / "model.onnx", pair, [("y", ("batch", 4), np.float32), ("scale", (), np.float32)])
    assert "is a scalar" in found(model)["V11"].message


def test_variable_outputs_and_a_batch_do_not_go_together(tmp_path: Path) -> None:
    text = npu_config(outputs=[tensor("y", "-1")])
    model = onnx_of(npu_model(tmp_path, text, onnx=False), ("batch", "n"), ("batch", "n"))
    assert "answers get wrong sizes" in found(model)["V12"].message


def test_the_first_dim_of_outputs_is_that_of_the_inputs(tmp_path: Path) -> None:
    model = whole(tmp_path, "1, 8", "8, 1", (1, 8), (8, 1))
    assert "begins with 1" in found(model)["V13"].fix


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "-1 dim has no name"),
        ("floor(height/16)", "no expression that npu_ge reads"),
        ("depth*2", "depth is no input dim (height, height_out)"),
        ("height/height", "a division by what may be 0"),
        ("height_out + 1", "height is replaced inside height_out"),
    ],
)
def test_a_variable_output_is_named_by_an_expression(name: str, message: str, tmp_path: Path) -> None:
    model = whole(tmp_path, "1, -1, -1", "1, -1, 3", (1, "height", "height_out"), (1, name or None, 3))
    assert message in found(model)["V14"].message


def test_an_exporters_name_comes_with_what_to_call_the_dim(tmp_path: Path) -> None:
    model = whole(tmp_path, "1, -1", "1, -1", (1, "height"), (1, "floor(height/16 + 1)"))
    assert found(model)["V14"].fix == "rename the dim to 'height/16+1'"
    model = whole(tmp_path / "b", "1, -1", "1, -1", (1, "height"), (1, "Max(height, 2)"))
    assert "whole numbers, input dims" in found(model)["V14"].fix


def test_an_expression_of_input_dims_is_fine_with_auto_complete(tmp_path: Path) -> None:
    model = whole(tmp_path, "1, -1, 3", "1, -1, 3", (1, "height", 3), (1, "(height + 15)/16", 3))
    assert {rule: finding.severity for rule, finding in found(model).items()} == {"V15": "advice"}


def test_tensors_of_two_gigabytes(tmp_path: Path) -> None:
    text = npu_config("max_batch_size: 512", inputs=[tensor("x", "1024, 1024")], outputs=[tensor("y", "1024, 1024")])
    model = onnx_of(npu_model(tmp_path, text, onnx=False), ("batch", 1024, 1024))
    assert "2.0 GiB at batch 512" in found(model)["V21"].message
