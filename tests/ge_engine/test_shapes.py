from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.shape_inference import InferenceError
from onnx_files import node, onnx_model, tensor

from ge_engine.shapes import infer_outputs


def outputs(nodes: list[Any], shape: tuple[int, ...], weights: dict[str, Any] | None = None, **more: Any) -> Any:
    model = onnx_model(nodes, [tensor("x", (None,) * len(shape))], [tensor("y", None)], weights, **more)
    return infer_outputs(model, {"x": shape})["y"]


def test_a_shape_with_limits_is_measured() -> None:
    """The values pass through a Sort-like chain that onnx's own inference does not follow."""
    nodes = [
        node("Shape", ["x"], ["s"], start=-2),
        node("TopK", ["s", "two"], ["sorted", "order"], largest=0),
        node("ConstantOfShape", ["sorted"], ["y"]),
    ]
    assert outputs(nodes, (3, 9, 5), {"two": np.int64([2])}) == (5, 9)


def test_the_number_of_elements_is_measured() -> None:
    nodes = [
        node("Size", ["x"], ["n"]),
        node("Reshape", ["n", "one"], ["n1"]),
        node("TopK", ["n1", "one"], ["t", "order"]),
        node("ConstantOfShape", ["t"], ["y"]),
    ]
    assert outputs(nodes, (3, 4), {"one": np.int64([1])}) == (12,)


def test_a_graph_cannot_make_us_allocate_what_it_describes() -> None:
    nodes = [
        node("ConstantOfShape", ["huge"], ["zeros"]),
        node("ReduceSum", ["zeros"], ["sum"]),
        node("Shape", ["zeros"], ["s"]),
        node("ConstantOfShape", ["s"], ["y"]),
    ]
    assert outputs(nodes, (2,), {"huge": np.int64([1 << 40])}) == (1 << 40,)


def test_a_division_by_zero_leaves_the_shape_unknown() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Div", ["s", "zero"], ["d"]),
        node("ConstantOfShape", ["d"], ["y"]),
    ]
    assert outputs(nodes, (2,), {"zero": np.int64([0])}) == (None,)


def test_operators_of_onnx_runtime_are_known_to_it() -> None:
    nodes = [node("QuickGelu", ["x"], ["y"], domain="com.microsoft")]
    assert outputs(nodes, (2, 3), domains=["com.microsoft"]) == (2, 3)


def test_shapes_that_do_not_fit_together_raise() -> None:
    with pytest.raises(InferenceError, match="Concat"):
        outputs([node("Concat", ["x", "w"], ["y"], axis=0)], (2, 3), {"w": np.zeros((1, 4), np.float32)})
