from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_files import node, onnx_model, scale_model, tensor

from ge_engine.inspect.proof import Desk, Original, Unproven

POINTS = ({"x": (1, 4)}, {"x": (3, 4)})


@pytest.fixture
def original(tmp_path: Path) -> Original:
    return Original(str(scale_model(tmp_path / "m.onnx", factor=3)))


def mended(*nodes: onnx.NodeProto, dims: tuple[int | str, ...] = ("batch", 4), factor: float = 3) -> onnx.ModelProto:
    return onnx_model(nodes, [tensor("x", dims)], [tensor("y", dims)], {"factor": np.float32([factor])})


def test_equal_bytes_are_said_to_be_equal(original: Original, tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        proof = original.prove(mended(node("Mul", ["factor", "x"], ["y"])), desk, POINTS)
    assert str(proof) == "equal bytes on random inputs of 2 shapes"
    assert proof.points == POINTS


def test_a_small_difference_is_printed(original: Original, tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        proof = original.prove(mended(node("Mul", ["x", "factor"], ["y"]), factor=3.00003), desk, POINTS)
    assert 0 < proof.deviation < 2e-5
    assert str(proof).startswith("within 1.0e-05 of the largest value on random inputs of 2 shapes")


@pytest.mark.parametrize(
    ("one", "dims", "message"),
    [
        (node("Add", ["x", "factor"], ["y"]), ("batch", 4), "it gives other answers: "),
        (node("Mul", ["x", "factor"], ["y"]), (1, 4), r"it does not run at x \[3, 4\]: "),
        (node("Nothing", ["x", "factor"], ["y"]), ("batch", 4), "it cannot be loaded: "),
    ],
)
def test_what_is_not_equal_says_how(
    one: onnx.NodeProto, dims: tuple[int | str, ...], message: str, original: Original, tmp_path: Path
) -> None:
    with Desk(tmp_path) as desk, pytest.raises(Unproven, match=message):
        original.prove(mended(one, dims=dims), desk, POINTS)


def test_a_size_that_is_declared_and_not_given_is_no_proof(original: Original, tmp_path: Path) -> None:
    model = mended(node("Mul", ["x", "factor"], ["y"]))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 5
    with (
        Desk(tmp_path) as desk,
        pytest.raises(Unproven, match=r"it declares output 'y' \['batch', 5\], and it is \[1, 4\]"),
    ):
        original.prove(model, desk, POINTS)


def test_weights_that_models_share_are_written_once(tmp_path: Path) -> None:
    heavy = np.arange(4000, dtype=np.float32)
    model = onnx_model([node("Mul", ["x", "w"], ["y"])], [tensor("x", (4000,))], [tensor("y", (4000,))], {"w": heavy})
    with Desk(tmp_path) as desk:
        for name in "abc":
            desk.write(model, name)
    assert (tmp_path / "weights").stat().st_size == 16000


def test_what_differs_below_zero_only_is_no_proof(tmp_path: Path) -> None:
    """Random pixels are 0..1."""
    original = Original(str(scale_model(tmp_path / "m.onnx", factor=1)))
    with Desk(tmp_path) as desk, pytest.raises(Unproven, match="it gives other answers"):
        original.prove(mended(node("Relu", ["x"], ["y"])), desk, POINTS)


def test_texts_are_compared_as_texts(tmp_path: Path) -> None:
    ports = [tensor("x", ("batch", 4)), tensor("text", ("batch",), object)], [tensor("said", ("batch",), object)]
    model = onnx_model([node("Identity", ["text"], ["said"])], *ports)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    points = ({"x": (1, 4), "text": (1,)},)
    original = Original(str(path))
    original.check_repeatable(points[0])
    with Desk(tmp_path) as desk:
        assert original.prove(model, desk, points).deviation == 0
