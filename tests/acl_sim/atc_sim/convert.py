"""Convert: the ONNX file, checked against the flags, to an .om."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from acl_sim.om import Dims, Om, Port
from onnx import helper, shape_inference

from . import gears as gears_of
from .errors import AtcError
from .gears import Gears
from .unregistered import UNREGISTERED

FEWEST_OPSET, MOST_OPSET = 11, 18
# Their outputs' sizes depend on the data: none of them in a graph with gears.
DATA_DEPENDENT = frozenset(("NonZero", "NonMaxSuppression", "Unique", "Compress"))


def convert(flags: Mapping[str, str], cann: str) -> Path:
    """Errors: AtcError."""
    gears = gears_of.of(flags)
    model = _read(flags["model"])
    _operators(model, gears)
    _names(model, gears)
    inputs = tuple(_input(value, gears) for value in _inputs(model))
    outputs = _outputs(model, inputs)
    path = Path(f"{flags['output']}.om") if not flags["output"].endswith(".om") else Path(flags["output"])
    om = Om(
        name=path.stem,
        soc=flags["soc_version"],
        cann=cann,
        kind=gears.kind,
        gears=gears.values,
        inputs=inputs,
        outputs=outputs,
        options={name: value for name, value in flags.items() if name not in ("model", "output")},
        format=flags.get("input_format", "NCHW"),
        onnx=model.SerializeToString(deterministic=True),
    )
    om.write(path)
    return path


def _read(path: str) -> onnx.ModelProto:
    try:
        return onnx.load(path)
    except Exception:  # protobuf and onnx have no family of exceptions
        raise AtcError("E10041", path) from None


def _operators(model: onnx.ModelProto, gears: Gears) -> None:
    opset = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    for node in _nodes(model.graph):
        domain = node.domain or "ai.onnx"
        name = f"{domain}::{opset.get(domain, 1)}::{node.op_type}"
        inside = FEWEST_OPSET <= opset.get(domain, 1) <= MOST_OPSET
        if domain != "ai.onnx" or not inside or node.op_type in UNREGISTERED:
            raise AtcError("E16002", name)
        if gears.kind != "static" and node.op_type in DATA_DEPENDENT:
            raise AtcError("E10055", f"{node.op_type} in a graph with gears: its output depends on the data")


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(inner)


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    constant = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constant]


def _names(model: onnx.ModelProto, gears: Gears) -> None:
    known = {value.name for value in _inputs(model)}
    for name in gears.shapes:
        if name not in known:
            raise AtcError("E10016", name, "input_shape")


def _input(value: onnx.ValueInfoProto, gears: Gears) -> Port:
    own = tuple(dim.dim_value or -1 for dim in value.type.tensor_type.shape.dim)
    given = gears.shapes.get(value.name)
    if given is None and -1 in own:
        raise AtcError("E10001", value.name, "--input_shape", "an input with open dims needs them")
    if given is not None and len(given) != len(own):
        raise AtcError("E10049", len(given), len(own))
    for wanted, dim in zip(given or (), own):
        if dim != -1 and wanted != dim:
            raise AtcError("E10050", dim, wanted, wanted)
    return Port(value.name, _dtype(value), gears.filled(value.name, own))


def _dtype(value: onnx.ValueInfoProto) -> str:
    return str(np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)).name)


def _outputs(model: onnx.ModelProto, inputs: tuple[Port, ...]) -> tuple[Port, ...]:
    shapes: list[list[Dims]] = [[] for _ in model.graph.output]
    for gear in range(len(inputs[0].shapes)):
        found = _inferred(model, {port.name: port.shapes[gear] for port in inputs})
        if any(-1 in shape for shape in found):
            if any(node.op_type in DATA_DEPENDENT for node in _nodes(model.graph)):
                raise AtcError("E10055", "the simulator does no outputs whose size the data decides")
            found = _ran(model, inputs, gear)
        for place, shape in itertools.zip_longest(shapes, found):
            place.append(shape)
    return tuple(Port(value.name, _dtype(value), tuple(rows)) for value, rows in zip(model.graph.output, shapes))


def _inferred(model: onnx.ModelProto, dims: Mapping[str, Dims]) -> list[Dims]:
    """-1 for what shape inference does not know."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, dims.get(value.name, ())):
            dim.dim_value = size
    del fixed.graph.value_info[:]
    for value in fixed.graph.output:
        value.type.tensor_type.ClearField("shape")
    inferred = shape_inference.infer_shapes(fixed, data_prop=True)
    return [
        tuple(dim.dim_value or -1 for dim in value.type.tensor_type.shape.dim)
        if value.type.tensor_type.HasField("shape")
        else (-1,)
        for value in inferred.graph.output
    ]


def _ran(model: onnx.ModelProto, inputs: tuple[Port, ...], gear: int) -> list[Dims]:
    """Where it does not: by a run on zeros."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session: Any = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    feeds = {port.name: np.zeros(port.shapes[gear], port.dtype) for port in inputs if port.name in wanted}
    return [result.shape for result in session.run(None, feeds)]
