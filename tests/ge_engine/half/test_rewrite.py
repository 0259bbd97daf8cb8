from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_files import node, onnx_model, tensor

from ge_engine.half.precision import CUBE, FP16
from ge_engine.half.rewrite import Keep, emulated
from ops import Array

RANDOM = np.random.default_rng(0)


def f16(values: Any) -> Array:
    """The nearest that fp16 has, by numpy."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


def run(model: onnx.ModelProto, feeds: Mapping[str, Any], optimized: bool = True) -> list[Array]:
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def one(
    op_type: str, inputs: Mapping[str, Array], weights: Mapping[str, Any] | None = None, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node; its inputs first, then its weights."""
    names = [*inputs, *(weights or {})]
    ports = [tensor(name, array.shape) for name, array in inputs.items()]
    y = onnx.helper.make_empty_tensor_value_info("y")
    y.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return onnx_model([node(op_type, names, ["y"], name="n", **attributes)], ports, [y], weights)


def normal(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("optimized", [True, False])
def test_values_become_those_that_numpys_float16_has(optimized: bool) -> None:
    # halfway between two, beyond the largest, subnormal, below the smallest, not a number
    x = np.float32([1 + 2**-11, 1 + 3 * 2**-11, 65519.9, 65520, -1e9, 2**-24, 2**-25, 3 * 2**-26, np.inf, np.nan, -0.0])
    (y,) = run(emulated(one("Identity", {"x": x}), FP16), {"x": x}, optimized)
    np.testing.assert_array_equal(y, f16(x))


@pytest.mark.parametrize("optimized", [True, False])
def test_an_elementwise_node_rounds_what_it_reads_and_what_it_makes(optimized: bool) -> None:
    a, b = normal(64), normal(64)
    for op_type, wanted in (("Mul", f16(a) * f16(b)), ("Add", f16(a) + f16(b)), ("Sub", f16(a) - f16(b))):
        (y,) = run(emulated(one(op_type, {"a": a, "b": b}), FP16), {"a": a, "b": b}, optimized)
        np.testing.assert_array_equal(y, f16(wanted))


def test_a_matmul_accumulates_in_fp32_between_its_roundings() -> None:
    # 2048 ones and a half: in fp16 all the way the sum would stay at 2048.
    x, w = np.ones((1, 4096), np.float32), np.full((4096, 1), 1.0, np.float32)
    (y,) = run(emulated(one("MatMul", {"x": x}, {"w": w}), FP16), {"x": x})
    assert y.tolist() == [[4096.0]]
    x, w = normal(3, 256), normal(256, 5)
    (y,) = run(emulated(one("MatMul", {"x": x}, {"w": w}), FP16), {"x": x})
    exact = f16(x).astype(np.float64) @ f16(w).astype(np.float64)
    assert set(y.ravel().tolist()) <= set(f16(y).ravel().tolist())
    np.testing.assert_allclose(y, exact, rtol=2**-11, atol=1e-5)


def test_a_convolution_rounds_its_input_its_weights_and_its_bias() -> None:
    x, w, b = normal(1, 2, 5, 5), normal(3, 2, 3, 3), normal(3)
    (y,) = run(emulated(one("Conv", {"x": x}, {"w": w, "b": b}), FP16), {"x": x})
    windows = np.lib.stride_tricks.sliding_window_view(f16(x).astype(np.float64), (3, 3), axis=(2, 3))
    exact = np.einsum("nchwij,ocij->nohw", windows, f16(w).astype(np.float64)) + f16(b)[None, :, None, None]
    np.testing.assert_array_equal(y, f16(y))
    np.testing.assert_allclose(y, exact, rtol=2**-11, atol=1e-5)


def test_a_reduction_is_rounded_once_at_its_end() -> None:
    x = normal(4, 1000)
    (y,) = run(emulated(one("ReduceMean", {"x": x}, axes=[1], keepdims=0), FP16), {"x": x})
    np.testing.assert_array_equal(y, f16(y))
    np.testing.assert_allclose(y, f16(x).astype(np.float64).mean(1), rtol=2**-11, atol=2**-24)


def test_the_graphs_inputs_and_outputs_keep_their_dtype_and_names() -> None:
    x = normal(2, 4)
    before = one("Softmax", {"x": x})
    after = emulated(before, FP16)
    assert list(after.graph.input) == list(before.graph.input)
    assert list(after.graph.output) == list(before.graph.output)
    assert run(after, {"x": x})[0].dtype == np.float32


def test_whole_numbers_truths_and_doubles_are_left_alone() -> None:
    nodes = [
        node("Add", ["i", "i"], ["j"]), node("Greater", ["x", "zero"], ["t"]), node("Mul", ["d", "d"], ["e"]),
    ]  # fmt: skip
    ports = [tensor("i", [2], np.int64), tensor("x", [2]), tensor("d", [2], np.float64)]
    outputs = [tensor("j", [2], np.int64), tensor("t", [2], np.bool_), tensor("e", [2], np.float64)]
    model = emulated(onnx_model(nodes, ports, outputs, {"zero": np.float32(0)}), FP16)
    i, x, d = np.array([2**40 + 1, 3]), np.float32([1e-9, 1]), np.array([1 + 1e-9, 2])
    j, t, e = run(model, {"i": i, "x": x, "d": d})
    assert (j.tolist(), e.tolist()) == ((2 * i).tolist(), (d * d).tolist())
    assert t.tolist() == [False, True]  # 1e-9 is 0 in fp16


def test_what_is_handed_on_is_rounded_once() -> None:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Transpose", ["a"], ["b"], perm=[1, 0]),
        node("Concat", ["b", "b"], ["y"], axis=0),
    ]
    model = emulated(onnx_model(nodes, [tensor("x", [2, 3])], [tensor("y", [6, 2])]), FP16)
    assert [n.op_type for n in model.graph.node] == ["Cast", "Cast", "Relu", "Transpose", "Concat"]


def chain() -> onnx.ModelProto:
    """y = ((x * 1000) * 1000) / 1000: the middle is beyond fp16 where x is 1."""
    nodes = [
        node("Mul", ["x", "k"], ["a"], name="first"), node("Mul", ["a", "k"], ["b"], name="second"),
        node("Div", ["b", "k"], ["y"], name="third"),
    ]  # fmt: skip
    return onnx_model(nodes, [tensor("x", [1])], [tensor("y", [1])], {"k": np.float32([1000])})


def test_an_overflow_is_infinite() -> None:
    assert run(emulated(chain(), FP16), {"x": np.float32([1])})[0].tolist() == [np.inf]


@pytest.mark.parametrize(
    "keep",
    [Keep(names=frozenset({"second", "third"})), Keep(op_types=frozenset({"Mul", "Div"}))],
    ids=["names", "types"],
)
def test_nodes_that_are_kept_compute_in_fp32(keep: Keep) -> None:
    assert run(emulated(chain(), FP16, keep), {"x": np.float32([1])})[0].tolist() == [1000.0]


def test_all_kept_is_the_graph_itself() -> None:
    model = chain()
    assert emulated(model, FP16, Keep(op_types=frozenset({"Mul", "Div"}))) == model


def test_cube_fp16in_fp32out_rounds_what_the_cube_reads_and_nothing_else() -> None:
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "k"], ["y"])]
    w, k = normal(8, 3), normal(3)
    model = emulated(onnx_model(nodes, [tensor("x", [2, 8])], [tensor("y", [2, 3])], {"w": w, "k": k}), CUBE)
    x = normal(2, 8)
    wanted = (f16(x).astype(np.float64) @ f16(w).astype(np.float64)) * k
    (y,) = run(model, {"x": x})
    np.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-6)
    assert not np.array_equal(y, f16(y))


def test_a_resize_keeps_its_size_though_its_scale_is_no_fp16() -> None:
    scale = np.float32([1, 1, 1 / 3, 1 / 3])
    x = normal(1, 1, 300, 300)
    nodes = [node("Resize", ["x", "", "s"], ["y"], name="n")]
    model = emulated(onnx_model(nodes, [tensor("x", x.shape)], [tensor("y", None)], {"s": scale}), FP16)
    assert run(model, {"x": x})[0].shape == (1, 1, 100, 100)


def test_the_body_of_an_if_is_left_alone() -> None:
    def body(name: str, op_type: str) -> onnx.GraphProto:
        inner: Sequence[onnx.NodeProto] = [node(op_type, ["x", "x"], [name])]
        return onnx.helper.make_graph(inner, name, [], [tensor(name, [1])])

    nodes = [node("If", ["c"], ["y"], then_branch=body("t", "Add"), else_branch=body("e", "Mul"))]
    model = onnx_model(nodes, [tensor("c", [1], np.bool_), tensor("x", [1])], [tensor("y", [1])])
    x = np.float32([0.1])
    assert run(emulated(model, FP16), {"c": np.array([True]), "x": x})[0] == x + x


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    nodes = [node("Mul", ["x", "x"], ["x.fp16"]), node("Add", ["x.fp16", "x"], ["y"])]
    model = emulated(onnx_model(nodes, [tensor("x", [1])], [tensor("y", [1])]), FP16)
    onnx.checker.check_model(model, full_check=True)
    assert run(model, {"x": np.float32([3])})[0].tolist() == [12.0]
