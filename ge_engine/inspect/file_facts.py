"""File facts: what an ONNX file says about itself. No weights are read, and nothing has to be sound."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx
from onnx import TensorProto

from ops import SpecError
from ops.spec import canonical_dtype

from .. import weights
from ..shapes import Shape, shape_of
from ..skeleton import graphs, tensors
from .layout import layout_of


@dataclass(frozen=True)
class Port:
    """An input or output. dtype: numpy's name, or ONNX's own where numpy has none. dims: sizes and names, "" for a
    size without a name; None where not even the rank is said. layout: NCHW, NHWC, tokens, ... or ""."""

    name: str
    dtype: str
    dims: tuple[int | str, ...] | None
    layout: str = ""

    def __str__(self) -> str:
        return self.dtype if self.dims is None else f"{self.dtype}[{', '.join(str(dim) or '?' for dim in self.dims)}]"


@dataclass(frozen=True)
class DataFile:
    """A file beside the model that holds weights. nbytes: None where it is missing; needed: up to where it is read."""

    location: str
    nbytes: int | None
    needed: int


@dataclass(frozen=True)
class FileFacts:
    """What a file says. operators: how often each stands in it, "domain:Type" where the domain is not ONNX's own.

    num_nodes: with those in the graphs of control flow. weights: bytes of all tensors.
    """

    path: str
    nbytes: int
    ir: int
    opset: int
    domains: Mapping[str, int]
    producer: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operators: Mapping[str, int]
    num_functions: int
    weights: int
    largest_weight: tuple[str, int]
    data_files: tuple[DataFile, ...]
    metadata: Mapping[str, str]

    @property
    def num_nodes(self) -> int:
        return sum(self.operators.values())


def file_facts(path: str, model: onnx.ModelProto) -> FileFacts:
    """The facts of a model as read_unchecked gives it."""
    domains = {entry.domain: entry.version for entry in model.opset_import}
    made_inside = {tensor.name for tensor in model.graph.initializer}
    held = list(tensors(model.graph))
    sizes = {tensor.name: _nbytes(tensor) for tensor in held}
    largest = max(sizes.items(), key=lambda item: item[1], default=("", 0))
    return FileFacts(
        path,
        os.path.getsize(path),
        model.ir_version,
        max(domains.get("", 0), domains.get("ai.onnx", 0)),
        {domain: version for domain, version in domains.items() if domain not in ("", "ai.onnx")},
        " ".join(filter(None, (model.producer_name, model.producer_version))),
        tuple(port_of(value, model.graph) for value in model.graph.input if value.name not in made_inside),
        tuple(port_of(value, None) for value in model.graph.output),
        Counter(sorted(map(_type, _nodes(model)))),
        len(model.functions),
        sum(map(_nbytes, held)),
        largest,
        tuple(_data_files(path, held)),
        {entry.key: entry.value for entry in model.metadata_props},
    )


def port_of(value: onnx.ValueInfoProto, graph: onnx.GraphProto | None) -> Port:
    """graph: that which reads it, by which its layout is guessed."""
    shape = shape_of(value)
    dims = None if shape is None else tuple(map(_size_or_name, shape))
    dtype = _dtype(value)
    return Port(value.name, dtype, dims, layout_of(value.name, dtype, dims, graph) if graph is not None else "")


def _size_or_name(dim: int | str | None) -> int | str:
    """A size of 0 is as good as none, and some exporters write a question mark for no name."""
    if isinstance(dim, int):
        return dim or ""
    return dim if dim and re.search(r"\w", dim) else ""


def shape_of_port(port: Port) -> Shape | None:
    """As ge_engine.shapes has it: None for a dim without a name."""
    return None if port.dims is None else tuple(dim if isinstance(dim, int) else dim or None for dim in port.dims)


def _dtype(value: onnx.ValueInfoProto) -> str:
    if not value.type.HasField("tensor_type"):
        return (value.type.WhichOneof("value") or "nothing").removesuffix("_type")
    element = value.type.tensor_type.elem_type
    try:
        return canonical_dtype(element)
    except SpecError:
        known = element in TensorProto.DataType.values()
        return str(TensorProto.DataType.Name(element)).lower() if known else "unknown"


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    for graph in graphs(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def _type(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}:{node.op_type}"


def _nbytes(tensor: TensorProto) -> int:
    try:
        return max(weights.nbytes(tensor), 0)  # a damaged file may have sizes below zero
    except (KeyError, TypeError, ValueError):  # a type that onnx has no number for
        return 0


def _data_files(path: str, held: list[TensorProto]) -> Iterator[DataFile]:
    needed: dict[str, int] = {}
    for tensor in held:
        entry = weights.entries(tensor) if weights.is_heavy(tensor) else {}
        location = entry.get("location", path)
        if location != path:
            end = _number(entry.get("offset")) + _number(entry.get("length"), _nbytes(tensor))
            needed[location] = max(needed.get(location, 0), end)
    folder = os.path.dirname(path)
    for location, end in needed.items():
        place = os.path.join(folder, location)
        yield DataFile(location, os.path.getsize(place) if os.path.isfile(place) else None, end)


def _number(text: str | None, default: int = 0) -> int:
    return int(text) if text is not None and text.isdigit() else default
