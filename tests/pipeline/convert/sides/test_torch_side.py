"""Conversions by the real PyTorch: set GEPIPE_HEAVY, and GEPIPE_TORCH to an interpreter that has it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import onnx
import pytest

from ops import ModelError
from pipeline.convert import Options, convert

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.skipif("GEPIPE_HEAVY" not in os.environ, reason="takes minutes: set GEPIPE_HEAVY"),
]
PYTHON = os.environ.get("GEPIPE_TORCH", sys.executable)
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self, train=False):
        super().__init__()
        self.train_always = train
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, image):
        features = torch.relu(self.norm(self.conv(image))).mean((2, 3))
        features = torch.nn.functional.dropout(features, training=self.train_always)
        return {"logits": self.head(features), "features": features}

def make():
    torch.manual_seed(0)
    return Net(), {"image": torch.zeros(1, 3, 32, 48)}

def random():
    torch.manual_seed(0)
    return Net(train=True), {"image": torch.zeros(1, 3, 32, 48)}

def alone():
    torch.manual_seed(0)
    return Net()

def unseeded():
    return Net(), {"image": torch.zeros(1, 3, 32, 48)}

class Kept(torch.nn.Module):
    def forward(self, image):
        return image.reshape(image.shape[0], 3, int(image.shape[2]), -1)

class Counted(torch.nn.Module):
    def forward(self, image):
        return image.flatten(1).sum(1, keepdim=True) / float(image.shape[3])

def one_batch():
    return torch.nn.Unflatten(0, (2, 1)), torch.rand(2, 3)

class Text(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(60, 8)
        self.places = torch.nn.Embedding(12, 8)
        self.kinds = torch.nn.Embedding(2, 8)

    def forward(self, ids, mask=None, kinds=None, scale=1.0):
        found = self.words(ids) + self.places(torch.arange(ids.shape[1])) + self.kinds(kinds)
        return (found if mask is None else found * mask.unsqueeze(-1)) * scale

def text():
    torch.manual_seed(0)
    return Text(), {"kinds": torch.tensor([[0, 1] * 6]), "ids": torch.randint(0, 60, (1, 12))}

class Offset(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 4)

    def forward(self, ids, unused=None):
        return self.words(ids - 100)

def offset():
    torch.manual_seed(0)
    return Offset(), torch.randint(100, 150, (1, 7))

def unread():
    return Offset(), {"ids": torch.randint(100, 150, (1, 7)), "unused": torch.rand(1, 3)}
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET)
    return tmp_path / "net.py"


def test_a_network_keeps_its_answers(net: Path, tmp_path: Path) -> None:
    options = Options(python=PYTHON, outputs=("logits", "features"))
    done = convert(f"{net}:make", tmp_path / "net.onnx", options)
    assert done.ok
    assert max(row.relative for row in done.rows) < 1e-5
    assert [(row.output, row.shape) for row in done.rows[2:]] == [("logits", (3, 5)), ("features", (3, 8))]


def test_dims_have_the_names_and_the_file_the_opset_that_are_asked_for(net: Path, tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(
        '{"model": "net.py:alone", "inputs": {"image": ["batch", 3, "height", "width"]}, "opset": 14}'
    )
    options = Options(python=PYTHON, sizes=({"height": 24, "width": 40},))
    assert convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", options).ok
    model = onnx.load(tmp_path / "net.onnx")
    (image,) = model.graph.input
    assert [dim.dim_param or dim.dim_value for dim in image.type.tensor_type.shape.dim] == [
        "batch",
        3,
        "height",
        "width",
    ]
    assert model.opset_import[0].version == 14


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("random", "the source answers the same inputs differently each time"),
        ("unseeded", "is called it makes another model"),
    ],
)
def test_a_model_that_answers_at_random_is_not_converted(net: Path, tmp_path: Path, function: str, reason: str) -> None:
    done = convert(f"{net}:{function}", tmp_path / "net.onnx", Options(python=PYTHON))
    assert done.why_not is not None
    assert reason in done.why_not.reason
    assert not (tmp_path / "net.onnx").exists()


@pytest.mark.parametrize(("kind", "axis"), [("Kept", "'height' (axis 2"), ("Counted", "'width' (axis 3")])
def test_a_size_that_became_a_number_is_named(net: Path, tmp_path: Path, kind: str, axis: str) -> None:
    (tmp_path / "net.json").write_text(
        f'{{"model": "net.py:{kind}", "inputs": {{"image": ["batch", 3, "height", "width"]}}}}'
    )
    options = Options(python=PYTHON, sizes=({"height": 24, "width": 40},))
    done = convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", options)
    assert [row.ok for row in done.rows] == [True, True, False]
    assert done.why_not is not None
    assert done.why_not.reason.startswith(f"{axis} of input 'image') cannot vary in what was made")


def test_a_model_of_one_batch_size_is_converted_for_that(net: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"the source does not run on input \[1, 3\]") as error:
        convert(f"{net}:one_batch", tmp_path / "net.onnx", Options(python=PYTHON))
    assert "in a JSON file a number for an axis that cannot vary" in error.value.fix
    (tmp_path / "net.json").write_text('{"model": "net.py:one_batch", "inputs": {"input": [2, 3]}}')
    assert convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", Options(python=PYTHON)).ok


def test_ids_stay_whole_numbers_such_as_the_model_takes(net: Path, tmp_path: Path) -> None:
    """A place beyond 12 has no row, and so half of the length is compared; the mask is left out between the two."""
    (tmp_path / "net.json").write_text(
        '{"model": "net.py:text", "inputs": {"kinds": ["batch", "seq"], "ids": ["batch", "seq"]}}'
    )
    done = convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", Options(python=PYTHON))
    assert done.ok
    assert [row.shape for row in done.rows] == [(1, 12, 8), (3, 12, 8), (1, 6, 8)]
    inputs = onnx.load(tmp_path / "net.onnx").graph.input
    assert [(one.name, one.type.tensor_type.elem_type) for one in inputs] == [("ids", 7), ("kinds", 7)]


def test_ids_that_do_not_begin_at_0_are_those_of_the_example(net: Path, tmp_path: Path) -> None:
    assert convert(f"{net}:offset", tmp_path / "net.onnx", Options(python=PYTHON)).ok
    with pytest.raises(ModelError, match="the model does not use input 'unused'"):
        convert(f"{net}:unread", tmp_path / "net.onnx", Options(python=PYTHON))
