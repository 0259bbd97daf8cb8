"""Warm-up samples: M32, M33, L14."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

from ..model import Model
from ..problem import Place, Problem
from ..schema import enum_name
from ..tensor import ITEM_BYTES, Tensor


def check_warmup(model: Model) -> Iterator[Problem]:
    """The warm-up samples of one model."""
    for index, sample in enumerate(model.config.model_warmup):
        place = model.at("model_warmup", index)
        if sample.batch_size > max(1, model.max_batch_size):
            yield _too_large(model, sample, place)
        if sample.batch_size:  # 0 skips the sample
            yield from _sample(model, sample, place)


def _too_large(model: Model, sample: Any, place: Place) -> Problem:
    message = f"warm-up '{sample.name}' has batch_size {sample.batch_size}, max_batch_size is {model.max_batch_size}"
    fix = f"write batch_size: {max(1, model.max_batch_size)}"
    if model.backend == "python":
        return Problem("M33", place, f"{message}: not checked, and it can end the whole server", fix, "fails")
    return Problem("L14", place, f"{message}: such a batch never comes", fix)


def _sample(model: Model, sample: Any, place: Place) -> Iterator[Problem]:
    inputs = {tensor.name: tensor for tensor in model.inputs}
    for name in sorted(sample.inputs):
        item = sample.inputs[name]
        if any(dim < 1 for dim in item.dims):
            message = f"warmup setting expects all variable-size dimensions are specified for input '{name}'"
            yield Problem("M32", place, f"{message}: {list(item.dims)}", "write a size for each dim")
            continue
        yield from _data(model, name, item, place)
        if name in inputs:
            yield from _against(model, inputs[name], item, place)
    required = [tensor.name for tensor in model.inputs if not tensor.optional]
    missing = [name for name in required if name not in sample.inputs]
    if missing and not model.open:
        message = (
            f"expected {len(inputs)} inputs but got {len(sample.inputs)} inputs for model '{model.name}': warm-up "
            f"'{sample.name}' lacks {', '.join(missing)}"
        )
        yield Problem("M32", place, message, "give every required input")


def _data(model: Model, name: str, item: Any, place: Place) -> Iterator[Problem]:
    choice = item.WhichOneof("input_data_type")
    if choice is None:
        message = f"warmup setting expects input '{name}' to have input_data_type set"
        yield Problem("M32", place, message, "write zero_data: true, random_data: true or input_data_file")
    if choice != "input_data_file":
        return
    path = os.path.join(model.folder.path, "warmup", item.input_data_file)
    if not os.path.isfile(path):
        message = f"failed to open text file for read {path}: No such file or directory"
        yield Problem("M32", place, message, "put the file into the model's warmup/")
        return
    size = ITEM_BYTES.get(enum_name(item, "data_type"), 0) * math.prod(item.dims)
    found = os.path.getsize(path)
    if size > found:
        message = (
            f"warmup setting expects {size} bytes, but the data provided from {item.input_data_file}only has {found}"
        )
        yield Problem("M32", place, f"{message} bytes", "write the bytes of one sample into the file")


def _against(model: Model, tensor: Tensor, item: Any, place: Place) -> Iterator[Problem]:
    """A sample is a request, and is compared like one."""
    data_type = enum_name(item, "data_type")
    if data_type != tensor.data_type != "TYPE_INVALID":
        message = (
            f"inference input '{tensor.name}' data-type is '{data_type.removeprefix('TYPE_')}', but model "
            f"'{model.name}' expects '{tensor.data_type.removeprefix('TYPE_')}'"
        )
        yield Problem("M32", place, message, f"write data_type: {tensor.data_type}")
    dims = list(item.dims)
    fits = len(dims) == len(tensor.dims) and all(want in (-1, got) for want, got in zip(tensor.dims, dims))
    if tensor.dims and not fits:
        batch = [[-1], [1]] if model.max_batch_size else [[], []]
        want, got = (_shape(lead + tail) for lead, tail in zip(batch, (list(tensor.dims), dims)))
        message = f"unexpected shape for input '{tensor.name}' for model '{model.name}'. Expected {want}, got {got}"
        yield Problem("M32", place, message, f"write dims: {list(tensor.dims)}")


def _shape(dims: list[int]) -> str:
    return f"[{','.join(map(str, dims))}]"
