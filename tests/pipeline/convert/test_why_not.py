from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
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

def fourfold():
    return torch.Net(2, 2, fixed=0), {"x": torch.rand((4, 4))}

def rows():
    return torch.Net(2, 2, fixed=1)

def columns():
    return torch.Net(2, 2, fixed=2)
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """The user's module, beside a torch."""
    shutil.copyfile(tiny_torch.__file__, tmp_path / "torch.py")
    (tmp_path / "net.py").write_text(NET)
    return tmp_path / "net.py"


def reason(source: str, folder: Path, *sizes: dict[str, int]) -> WhyNot:
    done = convert(source, folder / "net.onnx", Options(sizes=sizes))
    assert done.why_not is not None
    return done.why_not


def reason_at(function: str, shape: tuple[str, ...], net: Path, *sizes: dict[str, int]) -> WhyNot:
    """Of a model whose input x has these axes."""
    file = net.with_name("net.json")
    file.write_text(json.dumps({"model": f"net.py:{function}", "inputs": {"x": shape}}))
    return reason(str(file), net.parent, *sizes)


def test_a_function_that_makes_another_model_each_time_is_told(net: Path) -> None:
    told = reason(f"{net}:unseeded", net.parent)
    assert told.reason == f"each time that {net}:unseeded is called it makes another model"
    assert "torch.manual_seed(0)" in told.fix


def test_a_model_that_answers_at_random_is_told(net: Path) -> None:
    told = reason(f"{net}:training", net.parent)
    assert told.reason == "the source answers the same inputs differently each time"
    assert "dropout(x, training=self.training)" in told.fix


def test_of_several_axes_the_one_at_fault_is_named(net: Path) -> None:
    told = reason_at("columns", ("n", "height", "width"), net, {"height": 4, "width": 6})
    assert told.reason.startswith(
        "'width' (axis 2 of input 'x') cannot vary in what was made, which was traced with width=6: on"
    )


def test_what_fails_at_the_second_of_two_sizes_is_told_with_its_axis(net: Path) -> None:
    told = reason_at("rows", ("n", "width"), net, {"width": 6}, {"width": 7})
    assert "'width' (axis 1 of input 'x')" in told.reason


def test_an_export_is_right_at_the_batch_of_its_example(net: Path) -> None:
    told = reason(f"{net}:fourfold", net.parent)
    assert told.reason.startswith(
        "'batch' (axis 0 of input 'x') cannot vary in what was made, which was traced with batch=4: "
    )
    assert "as x.shape[0]" in told.fix
