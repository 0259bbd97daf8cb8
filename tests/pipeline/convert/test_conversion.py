from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_torch
from frozen_graphs import dense_graph
from onnx_files import node, save, scale_model, tensor

from ops import ModelError, WrongUse
from pipeline.convert import Options, convert
from pipeline.triton.lint import lint

NET = """
import torch

def right():
    return torch.Net(2, 2), {"x": torch.rand((1, 4))}

def wrong():
    return torch.Net(2, 2.1), {"x": torch.rand((1, 4))}

def alone():
    return torch.Net(2, 2)

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
        ("random 1", "y", (1, 4), 0.0),
        ("random 2", "y", (3, 4), 0.0),
    ]
    model = onnx.load(tmp_path / "net.onnx")
    assert model.opset_import[0].version == 17
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_a_json_file_says_inputs_outputs_and_opset(net: Path, tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(
        '{"model": "net.py:alone", "inputs": {"x": ["n", "width"]}, "outputs": ["y"], "opset": 14}'
    )
    with pytest.raises(WrongUse, match="dim 1 of input 'x' varies"):
        convert(str(tmp_path / "net.json"), tmp_path / "net.onnx")
    done = convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", Options(sizes={"width": 5}))
    assert [row.shape for row in done.rows] == [(1, 5), (3, 5)]
    assert onnx.load(tmp_path / "net.onnx").opset_import[0].version == 14


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
    assert [row.sample for row in done.rows] == ["random 1", "random 2", "mine.npz"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("alone", "returned a model alone: return the model and example inputs by name"),
        ("none", "returned a int, not a torch.nn.Module"),
        ("missing", "has no function missing"),
        ("VALUE", "has no function VALUE"),
        ("kind", "returned the class Net, not a torch.nn.Module, or one with its example inputs"),
        ("three", "returned a tuple, not a torch.nn.Module"),
        ("text", "returned example inputs that are no tensors with a batch: x"),
        ("nothing", "returned no example inputs"),
        ("ends", "ended before it was done, without an error"),
    ],
)
def test_a_function_that_is_not_right_is_told(net: Path, tmp_path: Path, function: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        convert(f"{net}:{function}", tmp_path / "net.onnx")


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
    pytest.importorskip("openvino")
    convert(str(dense_graph(tmp_path / "d.pb")), tmp_path / "models" / "dense", Options(outputs=("product",)))
    assert list(lint(tmp_path / "models", "24.02", environment={})) == []
    files = sorted(str(path.relative_to(tmp_path / "models")) for path in tmp_path.glob("models/*/*/*"))
    assert files == ["dense/1/model.pb", "scale/1/model.onnx"]


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
