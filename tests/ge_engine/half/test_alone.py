from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_files import node, onnx_model, tensor

from ge_engine.half.alone import with_twins
from ops import Array

K = np.float32([1000])


def f16(values: Array) -> Array:
    return values.astype(np.float16).astype(np.float32)


@pytest.mark.parametrize(("precision", "twins"), [("fp16", ["a", "b", "y"]), ("cube_fp16in_fp32out", ["a"])])
def test_each_node_has_a_twin_that_reads_what_it_reads_in_fp32(precision: str, twins: list[str]) -> None:
    w = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    nodes = [
        node("MatMul", ["x", "w"], ["a"], name="mix"),
        node("Mul", ["a", "k"], ["b"], name="boost"),
        node("Transpose", ["b"], ["y"], name="turn", perm=[1, 0]),
    ]
    model = onnx_model(nodes, [tensor("x", [2, 4])], [tensor("y", [3, 2])], {"w": w, "k": K})
    found, own = with_twins(model, precision)
    assert list(own) == twins
    del found.graph.output[:]
    names = [*own, *own.values()]
    found.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)
    values = dict(zip(names, session.run(names, {"x": x})))
    a = x @ w
    np.testing.assert_allclose(values["a"], a, rtol=1e-6)
    np.testing.assert_allclose(values[own["a"]], f16(x) @ f16(w), rtol=2**-10, atol=1e-6)
    if precision == "fp16":
        np.testing.assert_array_equal(values[own["b"]], f16(f16(values["a"]) * K))
        np.testing.assert_array_equal(values[own["y"]], f16(values["b"]).T)  # the loss of `boost` is not in it
