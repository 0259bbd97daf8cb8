from __future__ import annotations

import shutil
from pathlib import Path

import tiny_torch

from pipeline.convert import Options, convert
from pipeline.convert.why_not import WhyNot

NET = """
import random
import torch

def unseeded():
    return torch.Net(random.random(), 2), {"x": torch.rand((1, 4))}

def training():
    return torch.Net(2, 2, at_random=True), {"x": torch.rand((1, 4))}
"""


def reason(folder: Path, function: str) -> WhyNot:
    shutil.copyfile(tiny_torch.__file__, folder / "torch.py")
    (folder / "net.py").write_text(NET)
    done = convert(f"{folder / 'net.py'}:{function}", folder / "net.onnx")
    assert done.why_not is not None
    return done.why_not


def test_a_function_that_makes_another_model_each_time_is_told(tmp_path: Path) -> None:
    told = reason(tmp_path, "unseeded")
    assert told.reason == f"each time that {tmp_path / 'net.py'}:unseeded is called it makes another model"
    assert "torch.manual_seed(0)" in told.fix


def test_a_model_that_answers_at_random_is_told(tmp_path: Path) -> None:
    told = reason(tmp_path, "training")
    assert told.reason == "the source answers the same inputs differently each time"
    assert "dropout(x, training=self.training)" in told.fix


def test_of_several_axes_the_one_at_fault_is_named(tmp_path: Path) -> None:
    shutil.copyfile(tiny_torch.__file__, tmp_path / "torch.py")
    (tmp_path / "net.py").write_text("import torch\ndef make():\n    return torch.Net(2, 2, fixed=2)\n")
    (tmp_path / "net.json").write_text('{"model": "net.py:make", "inputs": {"x": ["n", "height", "width"]}}')
    sizes = {"height": 4, "width": 6}
    done = convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", Options(sizes=(sizes,)))
    assert done.why_not is not None
    assert done.why_not.reason.startswith("'width' (axis 2 of input 'x') cannot vary in what was made: on x [2, 4, 3]")


def test_what_fails_at_the_second_of_two_sizes_is_told_with_its_axis(tmp_path: Path) -> None:
    shutil.copyfile(tiny_torch.__file__, tmp_path / "torch.py")
    (tmp_path / "net.py").write_text("import torch\ndef make():\n    return torch.Net(2, 2, fixed=1)\n")
    (tmp_path / "net.json").write_text('{"model": "net.py:make", "inputs": {"x": ["n", "width"]}}')
    done = convert(str(tmp_path / "net.json"), tmp_path / "net.onnx", Options(sizes=({"width": 6}, {"width": 7})))
    assert done.why_not is not None
    assert "'width' (axis 1 of input 'x')" in done.why_not.reason
