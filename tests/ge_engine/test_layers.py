from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_files import node, onnx_model, save, tensor

from ge_engine.layers import layer_outputs
from ops import ModelError

X = np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)


def chain(count: int = 5) -> onnx.ModelProto:
    """x -> Tanh -> v0 -> Tanh -> v1 ..., and at the end the sum of the first and the last."""
    nodes = [node("Tanh", ["x" if n == 0 else f"v{n - 1}"], [f"v{n}"], name=f"tanh{n}") for n in range(count)]
    nodes.append(node("Add", ["v0", f"v{count - 1}"], ["y"], name="add"))
    return onnx_model(nodes, [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))])


def reference(model: onnx.ModelProto, feeds: dict[str, Any], names: Sequence[str]) -> list[Any]:
    """onnx's own evaluator, asked for these values."""
    found: list[Any] = ReferenceEvaluator(model, verbose=0).run(list(names), feeds)
    return found


@pytest.mark.parametrize("chunk", [1, 2, 16])
def test_every_value_is_that_of_onnxs_own_evaluator_whatever_the_slices(chunk: int) -> None:
    model = chain()
    layers = list(layer_outputs(model, {"x": X}, chunk=chunk))
    assert [(layer.name, layer.node.name) for layer in layers] == [
        *((f"v{n}", f"tanh{n}") for n in range(5)),
        ("y", "add"),
    ]
    wanted = reference(with_all(model), {"x": X}, [layer.name for layer in layers])
    for layer, value in zip(layers, wanted):
        np.testing.assert_allclose(layer.array, value, rtol=1e-6)


def with_all(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    del copy.graph.output[:]
    copy.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for one in model.graph.node for name in one.output
    )
    return copy


def test_only_what_is_asked_for_is_run_and_handed_out() -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Reshape", ["x", "nowhere"], ["b"]), node("Abs", ["a"], ["c"])]
    model = onnx_model(nodes, [tensor("x", (2, 4)), tensor("nowhere", (1,), np.int64)], [tensor("c", (2, 4))])
    ((name, _, array),) = layer_outputs(model, {"x": X}, ["c"])
    assert name == "c"
    np.testing.assert_array_equal(array, np.abs(X))


def test_a_file_whose_weights_are_in_another_is_run_like_any(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).normal(size=(4, 4096)).astype(np.float32)
    model = onnx_model(
        [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])],
        [tensor("x", ("batch", 4))],
        [tensor("y", ("batch", 4096))],
        {"w": weights},
    )
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    m, y = (layer.array for layer in layer_outputs(tmp_path / "m.onnx", {"x": X}, chunk=1))
    np.testing.assert_allclose(m, X @ weights, rtol=1e-5)
    np.testing.assert_array_equal(y, np.maximum(m, 0))


def test_a_subgraph_reads_values_and_weights_of_earlier_slices() -> None:
    branch = helper.make_graph([node("Mul", ["a", "w"], ["then"])], "then", [], [tensor("then", None)])
    other = helper.make_graph([node("Identity", ["x"], ["else"])], "else", [], [tensor("else", None)])
    nodes = [
        node("Neg", ["x"], ["a"]),
        node("ReduceSum", ["x"], ["s"], keepdims=0),
        node("Greater", ["s", "least"], ["c"]),
        node("If", ["c"], ["y"], then_branch=branch, else_branch=other),
    ]
    weights = {"w": np.float32([3]), "least": np.float32(-1e9)}
    model = onnx_model(nodes, [tensor("x", (2, 4))], [tensor("y", (2, 4))], weights)
    found = {layer.name: layer.array for layer in layer_outputs(model, {"x": X}, chunk=1)}
    np.testing.assert_array_equal(found["y"], -X * 3)


def test_a_sequence_passes_from_slice_to_slice() -> None:
    nodes = [
        node("SplitToSequence", ["x"], ["parts"], axis=1, keepdims=1),
        node("ConcatFromSequence", ["parts"], ["y"], axis=1),
    ]
    model = onnx_model(nodes, [tensor("x", (2, 4))], [tensor("y", (2, 4))])
    parts, y = (layer.array for layer in layer_outputs(model, {"x": X}, chunk=1))
    assert [part.shape for part in parts] == [(2, 1)] * 4
    np.testing.assert_array_equal(y, X)


def test_texts_pass_too() -> None:
    nodes = [node("Identity", ["x"], ["a"]), node("Identity", ["a"], ["y"])]
    model = onnx_model(nodes, [tensor("x", (2,), object)], [tensor("y", (2,), object)])
    *_, last = layer_outputs(model, {"x": np.array(["a", "猫"], object)}, chunk=1)
    assert last.array.tolist() == ["a", "猫"]


def test_what_nothing_reads_any_more_is_let_go() -> None:
    seen: dict[str, weakref.ref[Any]] = {}
    layers = layer_outputs(chain(8), {"x": X}, chunk=2)
    while "v6" not in seen:
        layer = next(layers)
        seen[layer.name] = weakref.ref(layer.array)
        del layer
    assert [name for name, ref in seen.items() if ref() is not None] == ["v0", "v6"]  # the sum at the end reads v0


def test_a_value_that_is_not_there_names_the_near_one() -> None:
    with pytest.raises(ModelError, match="no node makes 'V3'"):
        list(layer_outputs(chain(), {"x": X}, ["V3"]))


def test_an_input_without_a_value_is_named() -> None:
    with pytest.raises(ModelError, match="the input 'x' has no value"):
        list(layer_outputs(chain(), {}))


def test_of_many_nodes_the_one_that_fails_is_named(tmp_path: Path) -> None:
    nodes = [
        node("Neg", ["x"], ["a"], name="fine"),
        node("Gather", ["a", "ids"], ["b"], name="too far", axis=1),
        node("Neg", ["b"], ["y"], name="later"),
    ]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (2, 4)), tensor("ids", (1,), np.int64)], [tensor("y", (2, 1))])
    with pytest.raises(ModelError, match=r"node 'too far' \(Gather\) fails"):
        list(layer_outputs(path, {"x": X, "ids": np.int64([9])}))
