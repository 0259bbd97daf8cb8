"""Conversions by the real PyTorch: set GEPIPE_HEAVY, and GEPIPE_TORCH to an interpreter that has it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import onnx
import pytest

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
    options = Options(python=PYTHON, sizes={"height": 24, "width": 40})
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


def test_a_model_that_answers_at_random_is_not_converted(net: Path, tmp_path: Path) -> None:
    assert not convert(f"{net}:random", tmp_path / "net.onnx", Options(python=PYTHON)).ok
    assert not (tmp_path / "net.onnx").exists()
