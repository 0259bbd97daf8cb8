"""Shapes: what every tensor of a graph measures once its inputs are fixed, found without its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx
import onnx.shape_inference
from onnx import helper, numpy_helper

from ops import Array

from . import runtime, weights

Shape = tuple[int | str | None, ...]

_ROUNDS = 24  # each resolves the shapes that depend on those of the round before
_SMALL = 1024  # elements; what computes a shape is no larger
_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}


def fix_inputs(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> None:
    """Give these inputs these shapes, and forget what was declared about everything that follows from them."""
    for value in model.graph.input:
        if value.name in shapes:
            set_shape(value, shapes[value.name])
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]


def set_shape(value: onnx.ValueInfoProto, shape: Shape) -> None:
    """Replace what is declared of a shape."""
    tensor = value.type.tensor_type
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for dim in shape:
        entry = tensor.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim is not None:
            entry.dim_param = dim


def shape_of(value: onnx.ValueInfoProto) -> Shape | None:
    """Sizes, names, and None for a dim of which nothing is known; None where not even the rank is."""
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else _name(dim.dim_param) for dim in tensor.shape.dim)


def _name(name: str) -> str | None:
    """What it does not know, onnx's inference calls unk__0."""
    return None if not name or name.startswith("unk__") else name


def is_fixed(shape: Shape | None) -> bool:
    """Whether every dim is a number."""
    return shape is not None and all(isinstance(dim, int) for dim in shape)


def infer_strictly(model: onnx.ModelProto) -> onnx.ModelProto:
    """ONNX's own inference; heavy tensors stand in as inputs.

    Errors: what onnx raises when two shapes do not fit together.
    """
    detached = onnx.ModelProto()
    detached.CopyFrom(model)
    weights.detach(detached)
    return onnx.shape_inference.infer_shapes(detached, strict_mode=True, data_prop=True)


def known_shapes(inferred: onnx.ModelProto) -> dict[str, Shape | None]:
    """The shape of every input, initializer and value of a graph that inference has been over."""
    graph = inferred.graph
    shapes: dict[str, Shape | None] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    shapes.update((value.name, shape_of(value)) for value in (*graph.input, *graph.value_info, *graph.output))
    return shapes


def infer_outputs(model: onnx.ModelProto, inputs: Mapping[str, tuple[int, ...]]) -> dict[str, Shape | None]:
    """The shapes of a model's outputs for these input shapes, as far as they do not depend on data.

    Where inference alone does not get there, the small nodes that compute shapes are evaluated.
    Errors: what onnx raises when the model cannot take these inputs.
    """
    working = onnx.ModelProto()
    working.CopyFrom(model)
    fix_inputs(working, inputs)
    names = [value.name for value in working.graph.output]
    shapes: dict[str, Shape | None] = {}
    for _ in range(_ROUNDS):
        shapes = known_shapes(infer_strictly(working))
        if all(is_fixed(shapes.get(name)) for name in names) or not _fold_shape_nodes(working, shapes):
            break
    return {name: shapes.get(name) for name in names}


def _fold_shape_nodes(model: onnx.ModelProto, shapes: Mapping[str, Shape | None]) -> bool:
    """Replace the small nodes whose values are known by now with those values; whether there were any."""
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer if not weights.is_heavy(tensor)}
    constants: dict[str, Array | None] = dict.fromkeys(known)
    foldable = []
    for node in graph.node:
        if node.op_type == "Shape" and not node.attribute and is_fixed(shapes.get(node.input[0])):
            shape = shapes[node.input[0]]
            value = numpy_helper.from_array(_int64(shape), node.output[0])
        elif node.op_type == "Size" and is_fixed(shapes.get(node.input[0])):
            value = numpy_helper.from_array(_int64(math.prod(shapes[node.input[0]])), node.output[0])  # type: ignore[arg-type]
        else:
            if _is_small(node, shapes) and all(not name or name in constants for name in node.input):
                foldable.append(node)
                constants.update(dict.fromkeys(node.output))
            continue
        known[node.output[0]] = value
        constants[node.output[0]] = None
        foldable.append(node)
    if not foldable:
        return False
    ran = [node for node in foldable if node.output[0] not in known]
    values = [known[name] for node in foldable for name in node.output if name in known]
    try:
        values += _evaluate(model, ran, known) if ran else []
    except Exception:  # ONNX Runtime has no family of exceptions; the outputs simply stay unknown
        ran_outputs = {name for node in ran for name in node.output}
        if not values:
            return False
        assert not ran_outputs & {tensor.name for tensor in values}
    done = {tensor.name for tensor in values}
    kept = [node for node in graph.node if node.output[0] not in done]
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(values)
    return True


def _int64(value: object) -> Array:
    return np.asarray(value, np.int64)


def _is_small(node: onnx.NodeProto, shapes: Mapping[str, Shape | None]) -> bool:
    """Whether every output is known to be small before the node is run: a graph cannot make us allocate much."""
    if node.op_type in _RANDOM or node.domain not in ("", "ai.onnx"):
        return False
    if any(attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for attribute in node.attribute):
        return False
    outputs = [shapes.get(name) for name in node.output if name]
    return all(is_fixed(shape) and math.prod(shape) <= _SMALL for shape in outputs)  # type: ignore[arg-type]


def _evaluate(
    model: onnx.ModelProto, nodes: list[onnx.NodeProto], known: Mapping[str, onnx.TensorProto]
) -> list[onnx.TensorProto]:
    """Run these nodes, all of whose inputs are known, in one small graph."""
    made = [name for node in nodes for name in node.output if name]
    read = {name for node in nodes for name in node.input if name}
    graph = helper.make_graph(
        nodes,
        "shapes",
        [],
        [helper.make_empty_tensor_value_info(name) for name in made],
        [known[name] for name in read if name in known],
    )
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    results = runtime.session(small, threads=1).run(made, {})
    return [numpy_helper.from_array(value, name) for name, value in zip(made, results)]
