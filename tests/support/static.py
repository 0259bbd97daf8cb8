"""What is claimed of every static graph, checked on the graph itself."""

from __future__ import annotations

import onnx
import onnxruntime

from ge_engine.build import StaticGraph
from ops import Array


def assert_static(static: StaticGraph, feeds: dict[str, Array]) -> None:
    """Strict shape inference fixes every tensor, and a run that exposes them all agrees."""
    model = onnx.load(static.path)
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    inferred = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        assert all(dim.HasField("dim_value") for dim in dims), f"{value.name} is not fixed"
        inferred[value.name] = tuple(dim.dim_value for dim in dims)
    made = [name for node in graph.node for name in node.output if name]
    assert set(made) <= set(inferred)
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    del exposed.graph.output[:]
    exposed.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in made)
    onnx.load_external_data_for_model(exposed, static.path.rpartition("/")[0])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(exposed.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for name, array in zip(made, session.run(made, feeds)):
        assert array.shape == inferred[name], name


def run_alone(static: StaticGraph, feeds: dict[str, Array]) -> dict[str, Array]:
    """The answer of one static graph in a session of its own."""
    session = onnxruntime.InferenceSession(static.path, providers=["CPUExecutionProvider"])
    names = [name for name, _, _ in static.outputs]
    return dict(zip(names, session.run(names, feeds)))
