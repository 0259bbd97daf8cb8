"""Inputs and outputs as a config lists them: M27-M31, L05, L07."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ops.near import near

from ..model import Model
from ..problem import Place, Problem
from ..schema import enum_name


def check_tensors(model: Model) -> Iterator[Problem]:
    """The inputs and outputs of one model."""
    for kind in ("input", "output"):
        items, completed = getattr(model.config, kind), getattr(model, f"{kind}s")
        for index, item in enumerate(items):
            place = model.at(kind, index)
            if not model.ensemble:
                yield from _whole(model, kind, completed[index], place)
            yield from _dims(model, kind, index, item)
        counts = Counter(item.name for item in items)
        for name, count in counts.items():
            if count > 1 and name:
                place = model.at(kind, next(i for i in reversed(range(len(items))) if items[i].name == name))
                message = f"{count} {kind}s of {model.name} are called '{name}': clients and maps reach only one"
                yield Problem("L05", place, message, "give each a name of its own", "fails")
        if not items and not completed and not model.open and model.backend != "npu_ge":
            yield Problem(
                "L07", model.at(), f"{model.name} has no {kind}: it loads, and is of no use", f"list its {kind}s"
            )
    yield from _parameters(model)
    if not model.ensemble:
        yield from _formats(model)
    yield from _labels(model)
    yield from _batch_inputs(model)


def _parameters(model: Model) -> Iterator[Problem]:
    written = model.outline.all("parameters")
    for key, count in Counter(entry.string("key") for entry in written).items():
        if count > 1:
            line = next(entry.line for entry in reversed(written) if entry.string("key") == key)
            message = f"the parameter '{key}' is set {count} times: the last one counts"
            yield Problem("L05", Place(model.folder.config_path, line), message, "leave one", "advice")


def _whole(model: Model, kind: str, tensor: Any, place: Place) -> Iterator[Problem]:
    """Name, type and dims are there, or the server can fill them in."""
    what = f"model {kind} '{tensor.name}'" if tensor.name else f"model {kind}"
    fixes = {
        "name": "write its name",
        "data_type": "write data_type: TYPE_FP32, or another",
        "dims": "write dims: [ ... ]",
    }
    missing = [
        field
        for field, there in (
            ("name", tensor.name),
            ("data_type", tensor.data_type != "TYPE_INVALID"),
            ("dims", tensor.dims or _scalar(model, kind, tensor.name)),
        )
        if not there and (field == "name" or not model.open)
    ]
    for field in missing:
        yield Problem("M27", place, f"{what} must specify '{field}' for {model.name}", fixes[field])


def _scalar(model: Model, kind: str, name: str) -> bool:
    """Whether the ONNX file says that it is a scalar, which V11 tells."""
    found = getattr(model.onnx, f"{kind}s") if model.onnx else ()
    return any(tensor.name == name for tensor in found)


def _dims(model: Model, kind: str, index: int, item: Any) -> Iterator[Problem]:
    what = f"model {kind} '{item.name}'"
    must = "must be integer >= 1, or -1 to indicate a variable-size dimension for"
    if any(dim == 0 or dim < -1 for dim in item.dims):
        message = f"{what} dimension {must} {model.name}: {list(item.dims)}"
        yield Problem("M27", model.at(kind, index, "dims"), message, "write -1 for a variable dim, else its size")
        return
    if not item.HasField("reshape"):
        return
    shape, place = list(item.reshape.shape), model.at(kind, index, "reshape")
    if any(dim == 0 or dim < -1 for dim in shape):
        message = f"{what} reshape dimensions {must} {model.name}: {shape}"
        yield Problem("M28", place, message, "write sizes from 1, or -1")
    elif not shape and model.max_batch_size == 0:
        message = (
            f"{what} cannot have empty reshape for non-batching model as scalar tensors are not supported "
            f"for {model.name}"
        )
        yield Problem("M28", place, message, "write shape: [ 1 ]")
    elif shape.count(-1) != list(item.dims).count(-1):
        message = f"{what} has different number of variable-size dimensions for dims and reshape for {model.name}"
        yield Problem("M28", place, f"{message}: {list(item.dims)}, {shape}", "write -1 as often as dims do")
    elif _pieces(item.dims) != _pieces(shape):
        message = f"{what} has different size for dims and reshape for {model.name}"
        yield Problem("M28", place, f"{message}: {list(item.dims)}, {shape}", "write a shape of as many elements")


def _pieces(dims: Sequence[int]) -> list[int]:
    """The number of elements between the variable dims."""
    pieces = [1]
    for dim in dims:
        if dim == -1:
            pieces.append(1)
        else:
            pieces[-1] *= dim
    return pieces


def _formats(model: Model) -> Iterator[Problem]:
    for index, item in enumerate(model.config.input):
        if item.format and len(item.dims) != 3:
            message = f"model input NHWC/NCHW require 3 dims for {model.name}: '{item.name}' has {list(item.dims)}"
            yield Problem("M29", model.at("input", index, "format"), message, "leave format out, or write 3 dims")
    for kind in ("input", "output"):
        for index, item in enumerate(getattr(model.config, kind)):
            if item.is_shape_tensor and model.backend != "tensorrt":
                message = f"shape tensors are only supported for TensorRT platform for {model.name}"
                place = model.at(kind, index, "is_shape_tensor")
                yield Problem("M29", place, message, "leave is_shape_tensor out")
            if getattr(item, "is_non_linear_format_io", False) and model.backend != "tensorrt":
                message = f"Non-linear IO format tensors are only supported for TensorRT platform for {model.name}"
                place = model.at(kind, index, "is_non_linear_format_io")
                yield Problem("M29", place, message, "leave is_non_linear_format_io out")


def _labels(model: Model) -> Iterator[Problem]:
    for index, item in enumerate(model.config.output):
        if not item.label_filename:
            continue
        place = model.at("output", index, "label_filename")
        path = os.path.normpath(os.path.join(model.folder.path, item.label_filename))
        inside = path.startswith(os.path.normpath(model.folder.path) + os.sep)
        if not (os.path.isfile(path) if inside else os.path.exists(path)):
            message = f"failed to open text file for read {os.path.join(model.folder.path, item.label_filename)}"
            yield Problem("M31", place, f"{message}: No such file or directory", "put the file into the model's folder")
        elif not inside:
            message = f"label file '{item.label_filename}' is outside model directory; newer releases refuse it"
            yield Problem("M31", place, message, "put the file into the model's folder", "advice")


def _batch_inputs(model: Model) -> Iterator[Problem]:
    inputs = [item.name for item in model.config.input]
    outputs = [item.name for item in model.config.output]
    for field, word in (("batch_input", "input"), ("batch_output", "output")):
        for index, item in enumerate(getattr(model.config, field)):
            place, kind = model.at(field, index), enum_name(item, "kind")
            if word == "input" and enum_name(item, "data_type") not in ("TYPE_INT32", "TYPE_FP32"):
                message = f"batch input data type must be TYPE_INT32 or TYPE_FP32 for {model.name}"
                yield Problem("M30", place, message, "write data_type: TYPE_INT32")
            if len(item.source_input) != 1:
                got = len(item.source_input)
                message = f"batch {word} kind '{kind}' expects 1 source input, got {got} for {model.name}"
                yield Problem("M30", place, message, "name one source_input")
            for name in item.source_input:
                if name not in inputs:
                    message = f"unknown source input name '{name}' for {model.name}"
                    yield Problem("M30", place, message, near(name, inputs))
            for name in item.target_name if word == "output" else ():
                if name not in outputs:
                    message = f"unknown target output name '{name}' for {model.name}"
                    yield Problem("M30", place, message, near(name, outputs))
