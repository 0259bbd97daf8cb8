from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tiny_torch
from frozen_graphs import dense_graph
from onnx_files import node, save, scale_model, tensor

from ops import ModelError, WrongUse
from pipeline.convert import Options, convert
from pipeline.triton.golden import read_golden
from pipeline.triton.lint import lint

NET = """
import torch

def right():
    return torch.Net(2, 2), {"x": torch.rand((1, 4))}

def wrong():
    return torch.Net(2, 2.1), {"x": torch.rand((1, 4))}

def alone():
    return torch.Net(2, 2)

def fixed():
    return torch.Net(2, 2, fixed=1)

def one_size():
    return torch.Net(2, 2, fixed=0), {"x": torch.rand((1, 4))}

class _Single(torch.Net):
    def forward(self, x):
        return torch.Tensor(x.array.reshape(1, 4))

def single():
    return _Single(2, 2)

def single_shown():
    return _Single(2, 2), {"x": torch.rand((1, 4))}

def lookup():
    return torch.Lookup(7), {"ids": torch.zeros((1, 6), dtype=torch.int64)}

def masked():
    return torch.Lookup(7)

def read():
    open("weights.pt")

def none():
    return 7

def kind():
    return torch.Net

def three():
    return torch.Net(2, 2), {"x": torch.rand((1, 4))}, 3

def text():
    return torch.Net(2, 2), {"x": "picture.jpg"}

def nothing():
    return torch.Net(2, 2), {}

def ends():
    raise SystemExit(0)

VALUE = 3
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """A user's module beside a torch of numpy."""
    shutil.copyfile(tiny_torch.__file__, tmp_path / "torch.py")
    (tmp_path / "net.py").write_text(NET)
    return tmp_path / "net.py"


def test_a_torch_model_becomes_onnx_with_a_free_batch(net: Path, tmp_path: Path) -> None:
    said: list[str] = []
    done = convert(f"{net}:right", tmp_path / "net.onnx", Options(outputs=("y",)), said.append)
    assert said == ["converting: PyTorch to .onnx", "comparing"]
    assert done.ok
    assert done.files == (tmp_path / "net.onnx",)
    assert [(row.sample, row.output, row.shape, row.absolute) for row in done.rows] == [
        ("random, batch 1", "y", (1, 4), 0.0),
        ("random, batch 3", "y", (3, 4), 0.0),
    ]
    model = onnx.load(tmp_path / "net.onnx")
    assert model.opset_import[0].version == 17
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def described(net: Path, **document: Any) -> str:
    """A JSON file beside the user's module."""
    path = net.parent / "net.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_a_json_file_says_inputs_outputs_and_opset(net: Path, tmp_path: Path) -> None:
    source = described(net, model="net.py:alone", inputs={"x": ["n", "width"]}, outputs=["y"], opset=14)
    done = convert(source, tmp_path / "net.onnx", Options(sizes=({"width": 5},)))
    assert [(row.sample, row.shape) for row in done.rows] == [
        ("random, batch 1", (1, 5)),
        ("random, batch 3", (3, 5)),
        ("random, batch 1, width=2", (1, 2)),
    ]
    assert onnx.load(tmp_path / "net.onnx").opset_import[0].version == 14
    done = convert(source, tmp_path / "net.onnx", Options(sizes=({"width": 5}, {"width": 9})))
    assert [row.sample for row in done.rows] == ["random, batch 1", "random, batch 3", "random, batch 1, width=9"]


def test_all_sizes_are_asked_for_before_the_work(net: Path, tmp_path: Path) -> None:
    said: list[str] = []
    source = described(net, model="net.py:alone", inputs={"x": ["n", "height", "width"]})
    with pytest.raises(WrongUse, match="height, width vary, and their sizes are not known") as error:
        convert(source, tmp_path / "net.onnx", say=said.append)
    assert error.value.fix == "give what the model takes, as --at height=128,width=128"
    assert said == ["converting: PyTorch to .onnx"]
    with pytest.raises(WrongUse, match="no axis of an input that varies is called 'heigth'"):
        convert(source, tmp_path / "net.onnx", Options(sizes=({"heigth": 4, "width": 4},)))


def test_an_axis_that_the_export_has_fixed_is_named(net: Path, tmp_path: Path) -> None:
    source = described(net, model="net.py:fixed", inputs={"x": ["n", "width"]})
    done = convert(source, tmp_path / "net.onnx", Options(sizes=({"width": 6},)))
    assert [(row.sample, row.ok, row.shape) for row in done.rows] == [
        ("random, batch 1", True, (1, 6)),
        ("random, batch 3", True, (3, 6)),
        ("random, batch 1, width=3", False, None),
    ]
    assert done.why_not is not None
    assert done.why_not.reason.startswith(
        "'width' (axis 1 of input 'x') cannot vary in what was made, "
        "which was traced with width=6: on x [2, 3] the source "
        "answers, and what was made "
        "fails: "
    )
    assert done.why_not.fix.startswith("in the model's code take a size from the tensor, as x.shape[1]")
    assert not (tmp_path / "net.onnx").exists()
    assert convert(source, tmp_path / "models" / "net", Options(sizes=({"width": 6},))).ok


def test_a_batch_that_the_export_has_fixed_is_named(net: Path, tmp_path: Path) -> None:
    done = convert(f"{net}:one_size", tmp_path / "net.onnx")
    assert [row.ok for row in done.rows] == [False, False]
    assert done.why_not is not None
    assert (
        "'batch' (axis 0 of input 'x') cannot vary in what was made, which was traced with batch=2: on x [3, 4]"
        in done.why_not.reason
    )


def test_an_example_gives_the_dtypes_and_sizes_that_the_json_file_leaves_open(net: Path, tmp_path: Path) -> None:
    source = described(net, model="net.py:lookup", inputs={"ids": ["batch", "seq"]})
    done = convert(source, tmp_path / "net.onnx")
    assert [row.sample for row in done.rows] == ["random, batch 1", "random, batch 3", "random, batch 1, seq=3"]
    (ids,) = onnx.load(tmp_path / "net.onnx").graph.input
    assert ids.type.tensor_type.elem_type == onnx.TensorProto.INT64
    assert [dim.dim_param for dim in ids.type.tensor_type.shape.dim] == ["batch", "seq"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"ids": ["n", 5]}, r"input 'ids' is int64\[n, 5\] in the JSON file, and the example .* int64\[1, 6\]"),
        ({"ids": {"dtype": "int32", "shape": ["n", 6]}}, r"'ids' is int32\[n, 6\] .* int64\[1, 6\]"),
        ({"words": ["n", 6]}, "returned examples for ids, and the JSON file has inputs words"),
    ],
)
def test_an_example_that_contradicts_the_json_file_is_told(
    net: Path, tmp_path: Path, inputs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        convert(described(net, model="net.py:lookup", inputs=inputs), tmp_path / "net.onnx")


def test_inputs_go_by_the_names_of_forward_and_else_by_place_which_is_told(net: Path, tmp_path: Path) -> None:
    ids, mask = {"dtype": "int64", "shape": ["n", 6]}, ["n", 6]
    for inputs, order in (({"ids": ids, "mask": mask}, ["mask", "ids"]), ({"ids": ids}, ["ids"])):
        said: list[str] = []
        convert(described(net, model="net.py:masked", inputs=inputs), tmp_path / "net.onnx", say=said.append)
        assert [port.name for port in onnx.load(tmp_path / "net.onnx").graph.input] == order
        assert said[1:] == ["comparing"]
    convert(
        described(net, model="net.py:masked", inputs={"m": mask, "words": ids}), tmp_path / "net.onnx", say=said.append
    )
    assert "inputs go by place: 'm' is forward's 'mask', 'words' is forward's 'ids'" in said
    crossed = described(net, model="net.py:masked", inputs={"ids": ids, "m": mask})
    with pytest.raises(ModelError, match=r"inputs ids, m go by place to forward\(mask, ids\)"):
        convert(crossed, tmp_path / "net.onnx")


def test_a_model_that_does_not_run_is_told_with_what_it_was_given(net: Path, tmp_path: Path) -> None:
    source = described(net, model="net.py:masked", inputs={"ids": ["n", 6]})
    with pytest.raises(
        ModelError, match=r"the model does not run on ids float32\[2, 6\]: IndexError: .*torch.py:"
    ) as error:
        convert(source, tmp_path / "net.onnx")
    assert '{"ids": {"dtype": "int64", "shape": ["batch", "seq"]}}' in error.value.fix


@pytest.mark.parametrize("listed", [True, False])
def test_code_that_fixes_the_batch_is_told_with_its_line(net: Path, tmp_path: Path, listed: bool) -> None:
    source = described(net, model="net.py:single", inputs={"x": ["n", 4]}) if listed else f"{net}:single_shown"
    with pytest.raises(
        ModelError,
        match=r"the code fixes the batch: the model runs on x float32\[1, 4\], and not on x float32\[2, 4\]: "
        r"ValueError: cannot reshape .*net\.py:\d+\)",
    ) as error:
        convert(source, tmp_path / "net.onnx")
    assert re.match(r"use x\.shape\[0\] in place of a number at .*net\.py:\d+; or, ", error.value.fix)


def test_what_departs_from_its_source_is_not_left_behind(net: Path, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"what was there")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = convert(f"{net}:wrong", tmp_path / "net.onnx")
    assert not done.ok
    assert done.files == ()
    assert [f"{row.relative:.2f}" for row in done.rows] == ["0.05", "0.05"]
    assert (tmp_path / "net.onnx").read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == before
    assert convert(f"{net}:wrong", tmp_path / "net.onnx", Options(tolerance=0.1)).ok


def test_given_inputs_are_compared_too(net: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", x=np.float32([[1, 2, 3, 4]]))
    done = convert(f"{net}:right", tmp_path / "net.onnx", Options(data=tmp_path / "mine.npz"))
    assert [row.sample for row in done.rows] == ["random, batch 1", "random, batch 3", "mine.npz"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("alone", "returned a model alone\nfix: return the model with its example inputs by name"),
        ("none", "returned a int, not a torch.nn.Module"),
        ("rihgt", "has no function rihgt\nfix: did you mean 'right'?"),
        ("VALUE", "has no function VALUE\nfix: it has alone, ends, fixed, kind, lookup, masked, none"),
        ("read", "does not find weights.pt\nfix: a relative path starts at the current folder, "),
        ("kind", "returned the class Net, not a torch.nn.Module, or one with its example inputs"),
        ("three", "returned a tuple, not a torch.nn.Module"),
        ("text", "returned example inputs that are no tensors with a batch: x"),
        ("nothing", "returned no example inputs"),
        ("ends", "ended before it was done, without an error"),
    ],
)
def test_a_function_that_is_not_right_is_told(net: Path, tmp_path: Path, function: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        convert(f"{net}:{function}", tmp_path / "net.onnx")
    assert message in str(error.value)


def test_a_module_or_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no file none\.py"):
        convert("none.py:make", tmp_path / "net.onnx")
    with pytest.raises(ModelError, match="there is no module no_such_module") as error:
        convert("no_such_module.net:make", tmp_path / "net.onnx")
    assert error.value.fix == "start where it can be imported, or give its file: folder/net.py:make"


def test_a_framework_that_is_not_installed_is_named_with_its_extra(net: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")")
    with pytest.raises(WrongUse, match="has no module torch") as error:
        convert(f"{net}:right", tmp_path / "net.onnx")
    assert error.value.fix == "pip install torch; or name an interpreter that has it: --python"
    with pytest.raises(WrongUse, match="does not run"):
        convert(f"{net}:right", tmp_path / "net.onnx", Options(python=str(tmp_path / "no_python")))


def test_an_onnx_model_is_folded_and_keeps_its_inputs_and_outputs(tmp_path: Path) -> None:
    nodes = [node("Add", ["one", "one"], ["two"]), node("Mul", ["x", "two"], ["y"]), node("Neg", ["x"], ["unused"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("n", 4))], [tensor("y", ("n", 4))], {"one": np.float32([1])})
    done = convert(str(path), tmp_path / "simple.onnx")
    assert done.ok
    assert [one.op_type for one in onnx.load(tmp_path / "simple.onnx").graph.node] == ["Mul"]
    with pytest.raises(WrongUse, match="--outputs and --opset are for other sources"):
        convert(str(path), tmp_path / "simple.onnx", Options(opset=13))


def test_a_folder_is_an_entry_of_a_repository(tmp_path: Path) -> None:
    scale_model(tmp_path / "m.onnx")
    done = convert(str(tmp_path / "m.onnx"), tmp_path / "models" / "scale", Options(gears=(1, 2)))
    assert done.ok
    assert done.files == (tmp_path / "models" / "scale",)
    assert read_golden(tmp_path / "models" / "scale" / "1" / "golden.json")["machine"] == "ONNX"
    pytest.importorskip("openvino")
    convert(str(dense_graph(tmp_path / "d.pb")), tmp_path / "models" / "dense", Options(outputs=("product",)))
    assert list(lint(tmp_path / "models", "24.02", environment={})) == []
    files = sorted(str(path.relative_to(tmp_path / "models")) for path in tmp_path.glob("models/*/*/*"))
    assert files == [
        "dense/1/golden.json", "dense/1/model.pb", "dense/1/verify.py",
        "scale/1/golden.json", "scale/1/model.onnx", "scale/1/verify.py",
    ]  # fmt: skip


def test_a_place_that_cannot_be_is_refused_before_the_work(tmp_path: Path) -> None:
    source = str(scale_model(tmp_path / "m.onnx"))
    (tmp_path / "folder.onnx").mkdir()
    (tmp_path / "models" / "mine").mkdir(parents=True)
    for target, message in (
        (tmp_path / "m.onnx", "is the source itself"),
        (tmp_path / "m.xml", "neither .onnx nor .pb"),
        (tmp_path / "no" / "n.onnx", "is no folder"),
        (tmp_path / "m.onnx" / "n.onnx", "is no folder"),
        (tmp_path / "m.onnx" / "name", "is no folder"),
        (tmp_path / "folder.onnx", "is a folder"),
        (tmp_path / "models" / "mine", "is there already"),
        (tmp_path / "n.pb", "ONNX is not converted to .pb"),
    ):
        with pytest.raises(WrongUse, match=message):
            convert(source, target)
