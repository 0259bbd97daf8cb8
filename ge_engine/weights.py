"""Weights by reference: a heavy tensor says in which file its bytes lie, and is read only to be copied or used.

The references are ONNX's external data. In memory the location is an absolute path; in a file that is written it is a
name beside that file.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import onnx
from onnx import TensorProto, helper, numpy_helper

from ops import Array, ModelError

from .wire import LIMIT, MESSAGE, RAW

_PAGE, _LINE = 4096, 64  # what a runtime can map, and what it reads at once
_CHUNK = 1 << 23
_FIX = "put the file back beside the model, or export the model again with its weights inside"


def is_heavy(tensor: TensorProto) -> bool:
    """Whether the tensor only refers to its values."""
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def entries(tensor: TensorProto) -> dict[str, str]:
    """Where the values of a heavy tensor lie."""
    return {entry.key: entry.value for entry in tensor.external_data}


def refer(tensor: TensorProto, location: str, offset: int, length: int, form: str = RAW) -> None:
    """Make a tensor refer to bytes in a file, and hold none."""
    name, dims, dtype = tensor.name, list(tensor.dims), tensor.data_type
    tensor.Clear()
    tensor.name, tensor.data_type, tensor.data_location = name, dtype, TensorProto.EXTERNAL
    tensor.dims.extend(dims)
    values = {"location": location, "offset": str(offset), "length": str(length)}
    if form != RAW:
        values["form"] = form
    for key, value in values.items():
        tensor.external_data.add(key=key, value=value)


def nbytes(tensor: TensorProto) -> int:
    """How many bytes the raw values take."""
    return bytes_of(math.prod(tensor.dims), tensor.data_type)


def bytes_of(count: int, element: int) -> int:
    """The bytes of so many values of ONNX's type; types of less than a byte are packed."""
    if element in (TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1):
        return (count + 1) // 2
    itemsize: int = helper.tensor_dtype_to_np_dtype(element).itemsize
    return count * itemsize


def resolve(tensor: TensorProto, model_path: str) -> None:
    """Check a reference that a model file made, and make it absolute; small tensors are read at once.

    Errors: ModelError when the place is outside the model's folder, missing or too short.
    """
    entry = entries(tensor)
    location = entry.get("location", "")
    if location == model_path:  # made by wire.strip
        if entry["form"] == RAW and int(entry["length"]) != nbytes(tensor):
            raise ModelError(
                f"tensor {tensor.name!r} has {entry['length']} bytes, its shape needs {nbytes(tensor)}",
                fix="export the model again; the file is damaged",
            )
        return
    path = _inside(location, model_path, tensor.name)
    needed = nbytes(tensor)
    try:
        offset, length = int(entry.get("offset", "0")), int(entry.get("length", str(needed)))
    except ValueError:
        offset, length = -1, -1
    size = os.path.getsize(path)
    if length != needed or offset < 0 or offset + length > size:
        raise ModelError(
            f"tensor {tensor.name!r} is bytes {entry.get('offset', '0')}+{entry.get('length', needed)} "
            f"of {location}, which has {size} bytes; its shape needs {needed}",
            fix="use the data file that was exported together with this model",
        )
    refer(tensor, path, offset, length)
    if length <= LIMIT:
        load(tensor)


def _inside(location: str, model_path: str, name: str) -> str:
    folder = os.path.realpath(os.path.dirname(model_path))
    path = os.path.join(folder, location)
    if not location or os.path.isabs(location) or os.path.commonpath([folder, os.path.realpath(path)]) != folder:
        raise ModelError(
            f"tensor {name!r} lies in {location!r}, outside the model's folder",
            fix="keep the external data in the model's own folder and export with a relative location",
        )
    if not os.path.isfile(path):
        raise ModelError(f"its external data {location!r} is missing", fix=_FIX)
    return path


def read(tensor: TensorProto) -> Array:
    """The values of any tensor, heavy or not."""
    if not is_heavy(tensor):
        return numpy_helper.to_array(tensor)
    whole = deepcopy(tensor)
    load(whole)
    return numpy_helper.to_array(whole)


def load(tensor: TensorProto) -> None:
    """Fetch the bytes of a heavy tensor into it."""
    entry = entries(tensor)
    with open(entry["location"], "rb") as file:
        file.seek(int(entry["offset"]))
        data = file.read(int(entry["length"]))
    if entry.get("form", RAW) == MESSAGE:
        data = numpy_helper.to_array(TensorProto.FromString(data)).tobytes()
    del tensor.external_data[:]
    tensor.data_location = TensorProto.DEFAULT
    tensor.raw_data = data


def detach(model: onnx.ModelProto) -> list[TensorProto]:
    """Turn heavy initializers into inputs, so that tools which want values can work without them."""
    heavy = [tensor for tensor in model.graph.initializer if is_heavy(tensor)]
    light = [tensor for tensor in model.graph.initializer if not is_heavy(tensor)]
    del model.graph.initializer[:]
    model.graph.initializer.extend(light)
    for tensor in heavy:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return heavy


def attach(model: onnx.ModelProto, heavy: Iterable[TensorProto]) -> None:
    """Undo detach, for those that are still used."""
    by_name = {tensor.name: tensor for tensor in heavy}
    inputs = [value for value in model.graph.input if value.name not in by_name]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    used = used_names(model.graph)
    model.graph.initializer.extend(tensor for name, tensor in by_name.items() if name in used)


def used_names(graph: onnx.GraphProto) -> set[str]:
    """Every name that a node of the graph or of its subgraphs reads, and the outputs."""
    used = {value.name for value in graph.output}
    for node in graph.node:
        used.update(node.input)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                used |= used_names(inner)
    return used


class WeightFile:
    """The one file that holds the weights of all graphs of a stage; equal bytes are written once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[object, tuple[int, int]] = {}
        self._file = open(path, "wb")  # noqa: SIM115  # closed by __exit__

    def __enter__(self) -> WeightFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def take(self, model: onnx.ModelProto) -> None:
        """Write what is heavy in a graph, and make it refer to this file."""
        for tensor in model.graph.initializer:
            if is_heavy(tensor) or len(tensor.raw_data) > LIMIT:
                refer(tensor, self.path.name, *self._put(tensor))

    def flush(self) -> None:
        self._file.flush()

    def _put(self, tensor: TensorProto) -> tuple[int, int]:
        """Where the bytes of a tensor are, written now unless they are there already."""
        entry = entries(tensor)
        if not entry:
            return self._write(hashlib.sha256(tensor.raw_data).digest(), io.BytesIO(tensor.raw_data), nbytes(tensor))
        source, length = (entry["location"], entry["offset"]), int(entry["length"])
        if source in self._places:
            return self._places[source]
        if entry.get("form", RAW) == MESSAGE:
            return self._write(source, io.BytesIO(read(tensor).tobytes()), nbytes(tensor))
        with open(entry["location"], "rb") as file:
            file.seek(int(entry["offset"]))
            return self._write(source, file, length)

    def _write(self, key: object, data: BinaryIO, length: int) -> tuple[int, int]:
        if key not in self._places:
            self._file.seek(-self._file.tell() % (_PAGE if length >= _PAGE else _LINE), os.SEEK_CUR)
            self._places[key] = self._file.tell(), length
            while length:
                chunk = data.read(min(length, _CHUNK))
                if not chunk:
                    raise ModelError("a weight file became shorter while it was read", fix="build again")
                self._file.write(chunk)
                length -= len(chunk)
        return self._places[key]
