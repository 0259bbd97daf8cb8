from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ops import WrongUse
from pipeline.convert.source import FROZEN, ONNX, SAVED_MODEL, TFLITE, TORCH, source_of


def test_a_source_is_told_by_its_looks(tmp_path: Path) -> None:
    for name, kind in (("m.onnx", ONNX), ("m.pb", FROZEN), ("m.tflite", TFLITE)):
        (tmp_path / name).touch()
        assert source_of(str(tmp_path / name)).kind == kind
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    for path in (tmp_path / "saved", tmp_path / "saved" / "saved_model.pb"):
        assert (source_of(str(path)).kind, source_of(str(path)).path) == (SAVED_MODEL, str(tmp_path / "saved"))
    for function in ("net.py:make", "package.net:make"):
        assert (source_of(function).kind, source_of(function).path) == (TORCH, function)


def test_a_json_file_describes_a_torch_model(tmp_path: Path) -> None:
    inputs = {"x": ["batch", 3, "height", 64], "ids": {"dtype": "TYPE_INT64", "shape": [1, 7]}}
    described = tmp_path / "net.json"
    described.write_text(json.dumps({"model": "net.py:make", "inputs": inputs, "outputs": ["y"], "opset": 14}))
    found = source_of(str(described))
    assert (found.kind, found.path, found.folder) == (TORCH, "net.py:make", str(tmp_path))
    assert (found.outputs, found.opset) == (("y",), 14)
    assert found.inputs == {
        "x": {"dtype": "", "shape": ["batch", 3, "height", 64]},
        "ids": {"dtype": "int64", "shape": [1, 7]},
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "there is no 'model'"),
        ({"model": "a:b", "input": {}}, "it has input; known are inputs, model, opset, outputs"),
        ({"model": "a:b", "inputs": {"x": [0, 3]}}, "a shape is a list of sizes and names, not"),
        ({"model": "a:b", "inputs": {"x": {"dtype": "floaty", "shape": [1]}}}, "floaty"),
        ({"model": "net.py"}, "model is module:function, not 'net.py'"),
        ({"model": 3}, "model is module:function, not 3"),
        ({"model": "a:b", "opset": "17"}, "opset is a whole number, not '17'"),
        ({"model": "a:b", "opset": True}, "opset is a whole number, not True"),
        ({"model": "a:b", "outputs": "scores"}, "outputs is a list of names, not 'scores'"),
        ({"model": "a:b", "outputs": [""]}, "outputs is a list of names"),
        ({"model": "a:b", "inputs": ["x"]}, "inputs has a shape for each name"),
        ({"model": "a:b", "inputs": {"": [1]}}, "inputs has a shape for each name"),
        ({"model": "a:b", "inputs": {"x": "abc"}}, "a shape is a list of sizes and names, not 'abc'"),
        ({"model": "a:b", "inputs": {"x": [True, 3]}}, "a shape is a list of sizes and names"),
        ({"model": "a:b", "inputs": {"x": ["", 3]}}, "a shape is a list of sizes and names"),
        ({"model": "a:b", "inputs": {"x": {"dtype": "bytes", "shape": [1]}}}, "torch takes numbers, not bytes"),
        ([], r"does not describe a torch model: it holds \[\]"),
    ],
)
def test_a_json_file_that_describes_none_is_refused_with_the_form(tmp_path: Path, document: Any, message: str) -> None:
    (tmp_path / "net.json").write_text(json.dumps(document))
    with pytest.raises(WrongUse, match=message) as error:
        source_of(str(tmp_path / "net.json"))
    assert '"model": "net.py:make"' in error.value.fix


def test_what_cannot_be_converted_is_refused_with_what_to_do(tmp_path: Path) -> None:
    for name in ("m.pth", "m.h5", "m.om", "m.txt"):
        (tmp_path / name).touch()
    for name, fix in (
        ("m.pth", "write a function that makes the model and loads these weights"),
        ("m.h5", "model.export('folder')"),
        ("m.om", "convert what it was made from"),
        ("m.txt", "give a SavedModel's folder"),
    ):
        with pytest.raises(WrongUse, match="cannot be converted") as error:
            source_of(str(tmp_path / name))
        assert fix in error.value.fix
    with pytest.raises(WrongUse, match=r"there is no .*none.onnx"):
        source_of(str(tmp_path / "none.onnx"))
    with pytest.raises(WrongUse, match=r"is a folder without saved_model.pb"):
        source_of(str(tmp_path))
