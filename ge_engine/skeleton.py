"""Skeleton: what an ONNX file says, without its weights. Reading it costs the same for 1 MB and for 1 GB."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

import onnx
import onnx.inliner
from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message
from onnx import TensorProto, helper

from ops import ModelError
from ops.unique import unique

from . import weights, wire
from .model_file import status_of
from .runtime import first_line, load_error
from .shapes import Shape, infer_outputs

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

    def outputs_at(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Shape | None]:
        """The shapes of the outputs for these shapes of the inputs, as far as they do not depend on data.

        Errors: what onnx raises when the model cannot take these inputs.
        """
        return infer_outputs(self.model, shapes)


def read_skeleton(path: str) -> Skeleton:
    """The skeleton of an ONNX file; read once for each version of the file.

    Errors: ModelError for a file that is missing, damaged, unsafe or not for this ONNX Runtime.
    """
    status = status_of(path, _EXPORT)
    return _read(path, status.st_mtime_ns, status.st_size)


def read_unchecked(path: str) -> onnx.ModelProto:
    """What the file says, as it says it, its heavy tensors as references. Errors: ModelError where it is no ONNX."""
    status_of(path, _EXPORT)
    model = _parse(path)
    with _at(path):
        _check_text(model)
    return model


def read_loosely(path: str) -> onnx.ModelProto:
    """The model of a skeleton, without the question whether it can be run. Errors: ModelError."""
    status_of(path, _EXPORT)
    return _prepared(path)


@lru_cache(maxsize=32)
def _read(path: str, mtime_ns: int, size: int) -> Skeleton:
    model = _prepared(path)
    with _at(path):
        _check(model)
        _check_outputs(model.graph)
    return Skeleton(path, model, {entry.key: entry.value for entry in model.metadata_props})


def _prepared(path: str) -> onnx.ModelProto:
    """Functions inlined, heavy tensors found, default inputs forgotten."""
    model = _parse(path)
    with _at(path):
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        _check_text(model)
        _check_dense(model.graph)
        _lift(model)
        for tensor in tensors(model.graph):
            if weights.is_heavy(tensor):
                weights.resolve(tensor, path)
        _forget_default_inputs(model)
        _name_domain(model)
    return model


@contextmanager
def _at(path: str) -> Iterator[None]:
    """Errors say which file they are about."""
    try:
        yield
    except ModelError as error:
        raise error.at(path)  # noqa: B904  # the very same error, placed
    except Exception as error:  # onnx has no family of exceptions
        raise ModelError(f"{path} is not a sound ONNX model: {first_line(error)}", fix=_EXPORT) from error


def _check(model: onnx.ModelProto) -> None:
    """Refuse what ONNX Runtime does not load, or ONNX finds unsound."""
    detached = deepcopy(model)
    weights.detach(detached)
    fault = load_error(detached)
    if fault and fault.fix:
        raise ModelError(f"ONNX Runtime cannot run it: {fault.reason}", fix=fault.fix)
    check_sound(detached)
    if fault:
        raise ModelError(f"ONNX Runtime cannot run it: {fault.reason}", fix=_EXPORT)


def check_sound(model: onnx.ModelProto) -> None:
    """ONNX's own check, without the weights. Errors: onnx.checker.ValidationError."""
    detached = deepcopy(model)
    weights.detach(detached)
    for value in (*detached.graph.input, *detached.graph.output):
        if value.type.HasField("tensor_type"):  # the checker wants a shape; a rank that is unknown does no harm
            value.type.tensor_type.shape.SetInParent()
    onnx.checker.check_model(detached)


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


def _check_text(message: Message) -> None:
    """Protobuf hands out what is not UTF-8 as bytes; nothing here can do anything with such a name."""
    for field, value in message.ListFields():
        if field.type not in (field.TYPE_MESSAGE, field.TYPE_STRING):
            continue
        for one in (value,) if isinstance(value, (str, bytes, Message)) else value:
            if isinstance(one, Message):
                _check_text(one)
            elif not isinstance(one, str):
                raise ModelError(f"it holds a name that is not UTF-8: {one!r}", fix=_EXPORT)


def _parse(path: str) -> onnx.ModelProto:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            stripped = wire.strip(data, path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", fix="look at its permissions") from error
    except wire.Truncated as error:
        what, fix = _other_than_onnx(path)
        raise ModelError(f"{path} is {what or f'not an ONNX model, or is cut short: {error}'}", fix=fix) from error
    try:
        model = onnx.ModelProto.FromString(stripped)
    except ProtobufError as error:
        raise ModelError(f"{path} is not an ONNX model, or is damaged: {error}", fix=_EXPORT) from error
    if not model.ir_version or not model.opset_import or not model.HasField("graph"):
        raise ModelError(f"{path} is not an ONNX model", fix=f"name an .onnx file, or {_EXPORT}")
    return model


def _other_than_onnx(path: str) -> tuple[str, str]:
    """What a download leaves in a model's place, and the fix; "" for what is nothing known."""
    with open(path, "rb") as file:
        start = file.read(64).lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS: the model itself was not fetched", "fetch it: git lfs pull"
    if start.startswith((b"<!doctype html", b"<html")):
        return "a web page, not a model", "download the file itself: of a page on GitHub, its raw form"
    return "", _EXPORT


def _check_dense(graph: onnx.GraphProto) -> None:
    """Refuse weights that are stored sparse: no shape can be inferred from them."""
    for inner in graphs(graph):
        for tensor in inner.sparse_initializer:
            raise ModelError(
                f"its weight {tensor.values.name!r} is a sparse_initializer, of which no shape can be inferred",
                fix="store it dense, as an initializer of its whole shape",
            )


def _lift(model: onnx.ModelProto) -> None:
    """Make heavy constants, wherever they stand, and heavy weights of branches initializers of the main graph."""
    every = list(graphs(model.graph))
    names = {name for graph in every for node in graph.node for name in node.output}
    names |= {tensor.name for graph in every for tensor in graph.initializer}

    def lifted(tensor: TensorProto, value: str) -> str:
        names.add(name := unique(f"{value}_value", names))
        copy = model.graph.initializer.add()
        copy.CopyFrom(tensor)
        copy.name = name
        return name

    for graph in every:
        for node in graph.node:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value" and weights.is_heavy(attribute.t):
                    node.op_type = "Identity"
                    node.input.append(lifted(attribute.t, node.output[0]))
                    del node.attribute[:]
                    break
    for graph in every[1:]:
        heavy = [tensor for tensor in graph.initializer if weights.is_heavy(tensor)]
        light = [tensor for tensor in graph.initializer if not weights.is_heavy(tensor)]
        del graph.initializer[:]
        graph.initializer.extend(light)
        for tensor in heavy:
            graph.node.insert(0, helper.make_node("Identity", [lifted(tensor, tensor.name)], [tensor.name]))


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph, and those inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from graphs(inner)


def tensors(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    """Every tensor of a graph and of the graphs in it: initializers and attributes."""
    for inner in graphs(graph):
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


def _name_domain(model: onnx.ModelProto) -> None:
    """ONNX's own domain has two names; ONNX Runtime writes "", and not every tool knows the other."""
    if all(entry.domain for entry in model.opset_import):
        for entry in (entry for entry in model.opset_import if entry.domain == "ai.onnx"):
            entry.domain = ""
