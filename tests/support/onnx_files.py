"""Small ONNX files, made in the test that uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ge_engine.model import Model
from ge_engine.stage import StageGraph
from ops.host_stage import Step
from ops.spec import TensorSpec

Dims = Sequence[Any]
node = helper.make_node


def f32(*shape: Any) -> TensorSpec:
    return TensorSpec("float32", shape)


def tensor(name: str, dims: Dims | None, dtype: Any = np.float32) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims)


def onnx_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Mapping[str, Any] | None = None,
    *,
    opset: int = 17,
    ir: int = 8,
    domains: Sequence[str] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    metadata: Mapping[str, str] | None = None,
) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in (weights or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=ir, functions=functions)
    helper.set_model_props(model, dict(metadata or {}))
    return model


def save(path: Path, *parts: Any, **more: Any) -> Path:
    path.write_bytes(onnx_model(*parts, **more).SerializeToString())
    return path


def scale_model(path: Path, *, factor: float = 2.0, dims: Dims = ("batch", 4), **more: Any) -> Path:
    """y = x * factor."""
    weights = {"factor": np.float32([factor])}
    return save(path, [node("Mul", ["x", "factor"], ["y"])], [tensor("x", dims)], [tensor("y", dims)], weights, **more)


def two_inputs(path: Path, **more: Any) -> Path:
    """ids and mask of one length; hidden [batch, sequence, 2] and pooled [batch, 2]."""
    nodes = [
        node("Mul", ["ids", "mask"], ["masked"]),
        node("Gather", ["table", "masked"], ["hidden"]),
        node("ReduceMean", ["hidden"], ["pooled"], axes=[1], keepdims=0),
    ]
    inputs = [tensor(name, ("batch", "sequence"), np.int64) for name in ("ids", "mask")]
    outputs = [tensor("hidden", ("batch", "sequence", 2)), tensor("pooled", ("batch", 2))]
    return save(path, nodes, inputs, outputs, {"table": np.arange(20, dtype=np.float32).reshape(10, 2)}, **more)


def model_stage(path: Path, *specs: TensorSpec, name: str = "stage", constants: Mapping[str, Any] | None = None) -> Any:
    """A stage that is one model, its keys the model's own names."""
    model = Model(str(path))
    names, outputs = model.input_names, tuple(zip(model.output_names, model.infer(*specs)))
    step = Step(model.model_name, model, names, tuple((key, key, spec) for key, spec in outputs), "graph.py:7")
    fixed = constants or {}
    inputs = tuple((key, spec) for key, spec in zip(names, specs) if key not in fixed)
    return StageGraph(name, (step,), inputs, outputs, fixed)
