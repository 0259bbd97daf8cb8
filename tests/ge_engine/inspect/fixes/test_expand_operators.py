from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mended import mended, run
from onnx_files import node, save, tensor

ENDS = [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))]


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_becomes_what_every_opset_has_and_the_model_can_be_converted(approximate: str, tmp_path: Path) -> None:
    gelu = node("Gelu", ["x"], ["y"], approximate=approximate)
    path = save(tmp_path / "m.onnx", [gelu], *ENDS, opset=20)
    done = mended(path)
    assert done.made["operators"].done == ("1 Gelu, without a parser in GE: written as simpler operators",)
    assert done.made["opset"].done == ("opset 20 converted to 18",)
    assert "Gelu" not in done.operators
    assert [entry.domain for entry in done.model.opset_import] == [""]
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(done(x=x)["y"], run(path, x=x)["y"], rtol=1e-5, atol=1e-6)


def test_two_of_a_kind_do_not_meet(tmp_path: Path) -> None:
    nodes = [
        node("GroupNormalization", ["x", "s", "b"], ["m"], num_groups=2),
        node("GroupNormalization", ["m", "s", "b"], ["y"], num_groups=2),
    ]
    dims = ("batch", 4, 3)
    weights = {"s": np.float32([1, 2, 3, 4]), "b": np.float32([0, 1, 0, 1])}
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", dims)], [tensor("y", dims)], weights, opset=21)
    done = mended(path)
    assert done.made["operators"].done == (
        "2 GroupNormalization, without a parser in GE: written as simpler operators",
    )
    x = np.random.default_rng(0).random((2, 4, 3), np.float32)
    np.testing.assert_allclose(done(x=x)["y"], run(path, x=x)["y"], rtol=1e-4, atol=1e-5)


def test_what_onnx_does_not_define_by_others_stays(tmp_path: Path) -> None:
    nodes = [node("QuantizeLinear", ["x", "scale"], ["q"]), node("DequantizeLinear", ["q", "scale"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, *ENDS, {"scale": np.float32(0.1)})
    done = mended(path)
    assert "operators" not in done.made
    assert done.operators == ["QuantizeLinear", "DequantizeLinear"]
