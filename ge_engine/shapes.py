"""Shapes: what every tensor of a graph measures once its inputs are fixed, found without its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy

import numpy as np
import onnx
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

from ops import Array, TensorSpec

from . import runtime, weights

Shape = tuple[int | str | None, ...]

_ROUNDS = 24  # each resolves the shapes that depend on those of the round before
_SMALL = 1024  # elements; what computes a shape is no larger
_SLIDING = {"AveragePool", "Conv", "LpPool", "MaxPool"}
_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}


def fix_inputs(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> None:
    """Give these inputs these shapes, and forget what was declared about everything that follows from them."""
    for value in model.graph.input:
        if value.name in shapes:
            set_shape(value, shapes[value.name])
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):  # to ask a sequence for it would make a tensor of it
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
    return tuple(map(_dim, tensor.shape.dim))


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    """What it does not know, onnx's inference calls unk__0, and some exporters -1."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return None if not dim.dim_param or dim.dim_param.startswith("unk__") else dim.dim_param


def is_fixed(shape: Shape | None) -> bool:
    """Whether every dim is a number."""
    return shape is not None and all(isinstance(dim, int) for dim in shape)


def infer_strictly(model: onnx.ModelProto) -> onnx.ModelProto:
    """ONNX's own inference; heavy tensors stand in as inputs.

    Errors: what onnx raises when two shapes do not fit together, or an input is too small for a kernel.
    """
    detached = deepcopy(model)
    weights.detach(detached)
    inferred = onnx.shape_inference.infer_shapes(detached, strict_mode=True, data_prop=True)
    _check_kernels(inferred)
    return inferred


def _check_kernels(inferred: onnx.ModelProto) -> None:
    """Where a kernel is larger than what it slides over, onnx finds some size or other, and goes on with that."""
    shapes = known_shapes(inferred)
    for node in (node for node in inferred.graph.node if node.op_type in _SLIDING):
        given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        if given.get("ceil_mode") or given.get("auto_pad", b"").startswith(b"SAME"):
            continue  # these make up for it
        sizes = (shapes.get(node.input[0]) or ())[2:]
        weight = shapes.get(node.input[1]) if len(node.input) > 1 else None
        kernel = given.get("kernel_shape", (weight or ())[2:])
        pads = given.get("pads", [0] * 2 * len(sizes))
        around = map(sum, zip(pads, pads[len(sizes) :]))
        for size, more, length, step in zip(sizes, around, kernel, given.get("dilations", [1] * len(sizes))):
            if isinstance(size, int) and isinstance(length, int) and size + more < (length - 1) * step + 1:
                what = f"{node.op_type} '{node.name or node.output[0]}' gets {list(shapes[node.input[0]] or ())}"
                raise onnx.shape_inference.InferenceError(f"{what}, which is smaller than its kernel")


def known_shapes(inferred: onnx.ModelProto) -> dict[str, Shape | None]:
    """The shape of every input, initializer and value of a graph that inference has been over."""
    graph = inferred.graph
    shapes: dict[str, Shape | None] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    shapes.update((value.name, shape_of(value)) for value in (*graph.input, *graph.value_info, *graph.output))
    return shapes


def ask_runtime(model: onnx.ModelProto, names: list[str]) -> list[onnx.ValueInfoProto]:
    """What ONNX Runtime knows of these tensors: it has operators of its own, which ONNX does not know."""
    exposed = with_outputs(model, names)
    weights.detach(exposed)
    outputs = [value for value in runtime.session(exposed, threads=1).get_outputs() if value.name in names]
    return [
        helper.make_tensor_value_info(
            value.name,
            helper.np_dtype_to_tensor_dtype(TensorSpec(value.type, (1,)).numpy),
            [dim if isinstance(dim, int) else None for dim in value.shape],
        )
        for value in outputs
        if value.type.startswith("tensor(")
    ]


def with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """A copy that gives these tensors, too."""
    exposed = deepcopy(model)
    there = {value.name for value in exposed.graph.output}
    exposed.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name not in there)
    return exposed


def infer_outputs(model: onnx.ModelProto, inputs: Mapping[str, tuple[int, ...]]) -> dict[str, Shape | None]:
    """The shapes of a model's outputs for these input shapes, as far as they do not depend on data.

    Where inference alone does not get there, the small nodes that compute shapes are evaluated.
    Errors: what onnx raises when the model cannot take these inputs.
    """
    working = deepcopy(model)
    fix_inputs(working, inputs)
    names = [value.name for value in working.graph.output]
    shapes: dict[str, Shape | None] = {}
    for _ in range(_ROUNDS):
        shapes = known_shapes(infer_strictly(working))
        if all(is_fixed(shapes.get(name)) for name in names) or not _fold_shape_nodes(working, shapes):
            break
    unknown = [name for name in names if not is_fixed(shapes.get(name))]
    if unknown and any(node.domain for node in working.graph.node):
        shapes.update((value.name, shape_of(value)) for value in ask_runtime(working, unknown))
    return {name: shapes.get(name) for name in names}


def _fold_shape_nodes(model: onnx.ModelProto, shapes: Mapping[str, Shape | None]) -> bool:
    """Replace the small nodes whose values are known by now with those values; whether there were any."""
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer if not weights.is_heavy(tensor)}
    values: list[TensorProto] = []
    computed: list[onnx.NodeProto] = []
    made = {""}
    for node in graph.node:
        measured = _measured(node, shapes)
        if measured is not None:
            values.append(numpy_helper.from_array(measured, node.output[0]))
            known[node.output[0]] = values[-1]
        elif (
            _is_small(node, shapes)
            and all(name in known or name in made for name in node.input)
            and not _may_divide_by_zero(node, known)
        ):
            computed.append(node)
            made.update(node.output)
    if computed:
        values += _evaluate(model, computed, known)
    done = {tensor.name for tensor in values}
    kept = [node for node in graph.node if node.output[0] not in done]
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(values)
    return bool(values)


def _measured(node: onnx.NodeProto, shapes: Mapping[str, Shape | None]) -> Array | None:
    """What a Shape or Size node gives, where its input has a fixed shape."""
    shape = shapes.get(node.input[0]) if node.op_type in ("Shape", "Size") and node.input else None
    if shape is None or not is_fixed(shape):
        return None
    dims = np.array(shape, np.int64)
    if node.op_type == "Size":
        return np.asarray(dims.prod())
    limits = {attribute.name: attribute.i for attribute in node.attribute}
    return dims[limits.get("start", 0) : limits.get("end", len(dims))]


def _is_small(node: onnx.NodeProto, shapes: Mapping[str, Shape | None]) -> bool:
    """Whether every output is known to be small before the node is run: a graph cannot make us allocate much."""
    if node.op_type in _RANDOM or node.domain not in ("", "ai.onnx"):
        return False
    if any(attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for attribute in node.attribute):
        return False
    outputs = [shapes.get(name) for name in node.output if name]
    return all(is_fixed(shape) and math.prod(shape) <= _SMALL for shape in outputs)  # type: ignore[arg-type]


def _may_divide_by_zero(node: onnx.NodeProto, known: Mapping[str, TensorProto]) -> bool:
    """Whether a division is not known to be sound yet: ONNX Runtime up to 1.23 ends the process at such a one."""
    if node.op_type not in ("Div", "Mod"):
        return False
    return node.input[1] not in known or not numpy_helper.to_array(known[node.input[1]]).all()


def _evaluate(
    model: onnx.ModelProto, nodes: list[onnx.NodeProto], known: Mapping[str, TensorProto]
) -> list[TensorProto]:
    """What these nodes make, all of whose inputs are known, run in one small graph; nothing when they fail."""
    made = [name for node in nodes for name in node.output if name]
    read = {name for node in nodes for name in node.input if name in known}
    outputs = [helper.make_empty_tensor_value_info(name) for name in made]
    graph = helper.make_graph(nodes, "shapes", [], outputs, [known[name] for name in read])
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    try:
        results = runtime.session(small, threads=1).run(made, {})
    except Exception:  # ONNX Runtime has no family of exceptions
        return []  # then the shapes stay unknown, which is no fault
    return [numpy_helper.from_array(value, name) for name, value in zip(made, results)]
