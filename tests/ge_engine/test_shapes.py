from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.shape_inference import InferenceError
from onnx_files import node, onnx_model, tensor

from ge_engine import runtime
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


@pytest.mark.parametrize(("size", "fits"), [(16, True), (15, False), (4, False), (1, False)])
@pytest.mark.parametrize("kind", ["Conv", "MaxPool"])
def test_an_input_that_is_smaller_than_a_kernel_is_refused_as_onnx_runtime_does(
    kind: str, size: int, fits: bool
) -> None:
    """ONNX's inference goes on with a size of 0, or below it."""
    nodes = [
        node("Conv", ["x", "w"], ["c"], strides=[8])
        if kind == "Conv"
        else node("MaxPool", ["x"], ["c"], kernel_shape=[16], ceil_mode=0, auto_pad="NOTSET"),
        node("ReduceMean", ["c"], ["y"], axes=[2], keepdims=0),
    ]
    weights = {"w": np.ones((2, 2, 16), np.float32)}
    model = onnx_model(nodes, [tensor("x", ("batch", 2, "samples"))], [tensor("y", ("batch", 2))], weights)
    session = runtime.session(model)
    x = np.ones((1, 2, size), np.float32)
    if fits:
        assert infer_outputs(model, {"x": x.shape}) == {"y": session.run(None, {"x": x})[0].shape}
        return
    with pytest.raises(InferenceError, match=rf"{kind} 'c' gets \[1, 2, {size}\], which is smaller than its kernel"):
        infer_outputs(model, {"x": x.shape})
    if kind == "Conv":  # a pool of ONNX Runtime may make nothing of it, too
        with pytest.raises(Exception, match="Invalid input shape"):
            session.run(None, {"x": x})


@pytest.mark.parametrize(
    "more", [{"pads": [1, 1]}, {"auto_pad": "SAME_UPPER"}, {"ceil_mode": 1, "strides": [2]}, {"kernel_shape": [2]}]
)
def test_a_kernel_that_what_is_around_it_makes_room_for_is_not(more: dict[str, Any]) -> None:
    model = onnx_model(
        [node("MaxPool", ["x"], ["y"], **{"kernel_shape": [3], **more})],
        [tensor("x", ("batch", 2, "samples"))],
        [tensor("y", ("batch", 2, "out"))],
    )
    x = np.ones((1, 2, 2), np.float32)
    assert infer_outputs(model, {"x": x.shape}) == {"y": runtime.session(model).run(None, {"x": x})[0].shape}
