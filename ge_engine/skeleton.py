"""Skeleton: what an ONNX file says, without its weights. Reading it costs the same for 1 MB and for 1 GB."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

import onnx
import onnx.inliner
from google.protobuf.message import DecodeError as ProtobufError
from onnx import TensorProto

from ops import ModelError
from ops.near import near
from ops.unique import unique

from . import weights, wire
from .runtime import first_line, load_error

_EXPORT = "export the model to ONNX again"


@dataclass(frozen=True, eq=False)
class Skeleton:
    """An ONNX model whose heavy tensors are references; `model` is shared, so copy before a change.

    Local functions are inlined, heavy Constant nodes are initializers, and no input has an initializer.
    """

    path: str
    model: onnx.ModelProto
    metadata: Mapping[str, str]

    @property
    def opset(self) -> int:
        return next((entry.version for entry in self.model.opset_import if entry.domain in ("", "ai.onnx")), 0)

    def copy(self) -> onnx.ModelProto:
        return deepcopy(self.model)


def read_skeleton(path: str) -> Skeleton:
    """The skeleton of an ONNX file; read once for each version of the file.

    Errors: ModelError for a file that is missing, damaged, unsafe or not for this ONNX Runtime.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # a path with a NUL is a ValueError
        raise _missing(path) from None
    if os.path.isdir(path):
        raise ModelError(f"{path} is a folder, not an ONNX file", fix="name the .onnx file in it")
    if not os.path.isfile(path):  # a pipe or a device might never end
        raise ModelError(f"{path} is not a file", fix="name an .onnx file")
    if not status.st_size:
        raise ModelError(f"{path} is empty", fix=_EXPORT)
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=32)
def _read(path: str, mtime_ns: int, size: int) -> Skeleton:
    model = _parse(path)
    if not model.ir_version or not model.opset_import or not model.HasField("graph"):
        raise ModelError(f"{path} is not an ONNX model", fix=f"name an .onnx file, or {_EXPORT}")
    try:
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        _check_text(model)
        _lift(model)
        for tensor in tensors(model.graph):
            if weights.is_heavy(tensor):
                weights.resolve(tensor, path)
        _forget_default_inputs(model)
        _check(model)
        _check_outputs(model.graph)
    except ModelError as error:
        raise error.at(path)  # noqa: B904  # the very same error, placed
    except Exception as error:  # onnx has no family of exceptions
        raise ModelError(f"{path} is not a sound ONNX model: {first_line(error)}", fix=_EXPORT) from error
    return Skeleton(path, model, {entry.key: entry.value for entry in model.metadata_props})


def _check(model: onnx.ModelProto) -> None:
    """Refuse what ONNX Runtime does not load, or ONNX finds unsound."""
    detached = deepcopy(model)
    weights.detach(detached)
    fault = load_error(detached)
    if fault and fault.fix:
        raise ModelError(f"ONNX Runtime cannot run it: {fault.reason}", fix=fault.fix)
    for value in (*detached.graph.input, *detached.graph.output):
        value.type.tensor_type.shape.SetInParent()  # the checker wants a shape; a rank that is unknown does no harm
    onnx.checker.check_model(detached)
    if fault:
        raise ModelError(f"ONNX Runtime cannot run it: {fault.reason}", fix=_EXPORT)


def _check_outputs(graph: onnx.GraphProto) -> None:
    """Refuse an output that no node makes (an input or a weight handed on), or that is listed twice."""
    made = {name for node in graph.node for name in node.output}
    seen: set[str] = set()
    for value in graph.output:
        if value.name not in made:
            raise ModelError(
                f"its output {value.name!r} is an input or a weight, which no node makes",
                fix="export the model without this output: the caller has it already",
            )
        if value.name in seen:
            raise ModelError(f"it lists the output {value.name!r} twice", fix="export each output once")
        seen.add(value.name)


def _check_text(model: onnx.ModelProto) -> None:
    """Protobuf hands out what is not UTF-8 as bytes; nothing here can do anything with such a name."""
    texts = [text for entry in model.metadata_props for text in (entry.key, entry.value)]
    for graph in _graphs(model.graph):
        values = (*graph.input, *graph.output, *graph.value_info)
        texts += [value.name for value in values]
        texts += [dim.dim_param for value in values for dim in value.type.tensor_type.shape.dim]
        texts += [tensor.name for tensor in graph.initializer]
        for node in graph.node:
            texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
            texts += [attribute.name for attribute in node.attribute]
    for text in texts:
        if not isinstance(text, str):
            raise ModelError(f"it holds a name that is not UTF-8: {text!r}", fix=_EXPORT)


def _parse(path: str) -> onnx.ModelProto:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            stripped = wire.strip(data, path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", fix="look at its permissions") from error
    except wire.Truncated as error:
        raise ModelError(f"{path} is not an ONNX model, or is cut short: {error}", fix=_EXPORT) from error
    try:
        return onnx.ModelProto.FromString(stripped)
    except ProtobufError as error:
        raise ModelError(f"{path} is not an ONNX model, or is damaged: {error}", fix=_EXPORT) from error


def _missing(path: str) -> ModelError:
    folder, name = os.path.split(path)
    try:
        beside = sorted(os.listdir(folder or "."))
    except (OSError, ValueError):
        return ModelError(f"there is no file {path}, nor a folder {folder}", fix="write the path relative to the file")
    if name in beside:
        return ModelError(f"{path} is a link to what is not there", fix="mend the link, or put the model there")
    models = [other for other in beside if other.endswith(".onnx")]
    fix = "put the model there, or write its path relative to the file that declares it"
    return ModelError(f"there is no file {path}", fix=near(name, models) if models else fix)


def _lift(model: onnx.ModelProto) -> None:
    """Make heavy constants, wherever they stand, initializers of the main graph."""
    names = {name for graph in _graphs(model.graph) for node in graph.node for name in node.output}
    for graph in list(_graphs(model.graph)):
        for node in graph.node:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value" and weights.is_heavy(attribute.t):
                    name = unique(f"{node.output[0]}_value", names)
                    names.add(name)
                    tensor = model.graph.initializer.add()
                    tensor.CopyFrom(attribute.t)
                    tensor.name = name
                    node.op_type = "Identity"
                    node.input.append(name)
                    del node.attribute[:]
                    break


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inner)


def tensors(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    """Every tensor of a graph and of the graphs in it: initializers and attributes."""
    for inner in _graphs(graph):
        yield from inner.initializer
        for node in inner.node:
            for attribute in node.attribute:
                yield from (*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors)


def _forget_default_inputs(model: onnx.ModelProto) -> None:
    """Before IR 4 every initializer was also listed as an input."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initialized]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)
