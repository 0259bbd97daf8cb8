from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx_files import node, onnx_model, tensor

from ge_engine.half.rewrite import Keep
from ops import WrongUse
from pipeline.compare.lists import ascend_type, lists_of, read_list

MODEL = onnx_model(
    [node("Conv", ["x", "w"], ["a"], name="/head/Conv"), node("Gather", ["a", "i"], ["y"], name="pick", axis=1)],
    [tensor("x", [1, 1, 4, 4])],
    [tensor("y", [1, 1, 2, 2])],
    {"w": np.ones((1, 1, 3, 3), np.float32), "i": np.array([0])},
)


def test_nodes_are_listed_in_the_three_forms_that_cann_reads() -> None:
    files = lists_of({"/head/Conv", "pick"}, MODEL)
    assert files["keep_dtype.cfg"] == "/head/Conv\npick\n"
    assert files["customize_dtypes.cfg"] == (
        "/head/Conv::InputDtype:float32,float32,OutputDtype:float32\npick::InputDtype:float32,int64,OutputDtype:float32\n"
    )
    assert json.loads(files["modify_mixlist.json"]) == {"black-list": {"to-add": ["Conv2D", "Gather"]}}


@pytest.mark.parametrize(("onnx", "ascend"), [("Conv", "Conv2D"), ("Softmax", "SoftmaxV2"), ("Sigmoid", "Sigmoid")])
def test_types_go_by_ascends_names(onnx: str, ascend: str) -> None:
    assert ascend_type(onnx) == ascend


@pytest.mark.parametrize("file", ["keep_dtype.cfg", "customize_dtypes.cfg"])
def test_a_list_of_names_reads_back(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text(lists_of({"/head/Conv", "pick"}, MODEL)[file], encoding="utf-8")
    assert read_list(tmp_path / file) == Keep(names=frozenset({"/head/Conv", "pick"}))


def test_a_list_of_types_reads_back_as_onnxs_operators(tmp_path: Path) -> None:
    path = tmp_path / "mix.json"
    path.write_text(lists_of({"/head/Conv"}, MODEL)["modify_mixlist.json"], encoding="utf-8")
    assert MODEL.graph.node[0] in read_list(path)
    assert MODEL.graph.node[1] not in read_list(path)
    (tmp_path / "keep.cfg").write_text("OpType::Conv2D\nother\n", encoding="utf-8")
    assert MODEL.graph.node[0] in read_list(tmp_path / "keep.cfg")
    assert read_list(tmp_path / "keep.cfg").names == {"other"}


@pytest.mark.parametrize(
    "text",
    ["no JSON", "[]", '{"white-list": {}}', '{"black-list": {"to-add": "Conv"}}', '{"black-list": {"to-add": [3]}}'],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mix.json").write_text(text, encoding="utf-8")
    with pytest.raises(WrongUse, match=r"mix\.json is no list of nodes to keep"):
        read_list(tmp_path / "mix.json")
