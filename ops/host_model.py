"""A host stage as a model of Triton's Python backend: stage.json and the files beside it, run for each request.

The server's Python needs numpy and cv2, nothing else; what is imported here travels with the stage.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import DecodeError, GepipeError, SampleError, SpecError
from .host_stage import HostStage, Step, same_memory
from .serial import op_from_json
from .spec import Array, TensorSpec
from .spec_json import array_from_json, spec_from_json

FORMAT = 1


@dataclass(frozen=True)
class Port:
    """A tensor of the model: the value `key` of the stage.

    A key that begins with # is a count: the number of rows of the values whose `count` it is.
    """

    tensor: str
    key: str
    spec: TensorSpec
    count: str = ""

    @property
    def is_count(self) -> bool:
        return self.key.startswith("#")


class HostModel:
    """The stage in a folder, ready to run.

    rows: how many samples each request holds; 0 where the batch is the server's (max_batch_size > 0).
    Errors: SpecError for a folder that holds no stage, or one of another format.
    """

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, "stage.json"), encoding="utf-8") as file:
            document = json.load(file)
        if document.get("format") != FORMAT:
            raise SpecError(f"{folder}: stage.json has format {document.get('format')!r}", fix="export it anew")
        for module in document["modules"]:
            importlib.import_module(module)  # registers the user's ops
        self.pipeline: str = document["pipeline"]
        self.rows: int = document["rows"]
        self.inputs = [_port(item) for item in document["inputs"]]
        self.outputs = [_port(item) for item in document["outputs"]]
        # Written in place: what has one size, known beforehand.
        self._in_place = [p for p in self.outputs if not p.is_count and p.spec.is_fixed and not _varies(p.spec)]
        self._constants = {key: array_from_json(value) for key, value in document["constants"].items()}
        steps = [_step(item, folder) for item in document["steps"]]
        self._stage = HostStage(steps, frozenset(port.key for port in self.outputs if not port.is_count))

    def run(self, tensors: Mapping[str, Array], wanted: Sequence[str] | None = None) -> dict[str, Array]:
        """One request: its tensors, with the batch first, to the outputs that are wanted (all by default).

        Errors: SampleError for a tensor that is not as declared; the error of the node that failed.
        """
        count = self._count(tensors)
        results = {port.tensor: self._empty(port, count) for port in self.outputs}
        for row in range(count):
            self._run_row(tensors, results, row, count)
        return {name: array for name, array in results.items() if wanted is None or name in wanted}

    def _count(self, tensors: Mapping[str, Array]) -> int:
        counts = {len(array) for array in tensors.values()}
        if len(counts) != 1 or (self.rows and counts != {self.rows}):
            shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in tensors.items())
            raise SampleError(f"the batches differ: {shapes}", fix=f"send {self.rows or 'one number of'} rows in each")
        return counts.pop()

    def _run_row(self, tensors: Mapping[str, Array], results: dict[str, Array], row: int, count: int) -> None:
        values: dict[str, Any] = dict(self._constants)
        lengths = {port.key: int(tensors[port.tensor][row][0]) for port in self.inputs if port.is_count}
        for port in self.inputs:
            if not port.is_count:
                values[port.key] = _value(tensors[port.tensor], port, row, count, lengths)
        out = {port.key: results[port.tensor][row] for port in self._in_place}
        self._stage.run(values, out)
        for port in self.outputs:
            if port.is_count:
                continue
            value, target = values[port.key], results[port.tensor]
            if not port.spec.shape:
                target.reshape(count)[row] = value
            elif port.count:
                target[row, : len(value)] = value
                lengths[port.count] = len(value)
            elif target.shape[1:] != value.shape:  # of a size that only the data knows; such stages take one row
                results[port.tensor] = value.reshape(count, *value.shape)
            elif not same_memory(value, target[row]):
                target[row] = value
        for port in self.outputs:
            if port.is_count:
                results[port.tensor][row] = lengths[port.key]

    def _empty(self, port: Port, count: int) -> Array:
        if not port.spec.shape:
            return np.empty((count,) if self.rows else (count, 1), object)
        shape = (count, *(port.spec.max_shape or ()))
        return np.full(shape, b"", object) if port.spec.dtype == "bytes" else np.zeros(shape, port.spec.numpy)


class TritonPythonModel:
    """What the Python backend calls. Each request gets one response, in order; a bad one fails alone."""

    def initialize(self, args: Mapping[str, str]) -> None:
        folder = os.path.join(args["model_repository"], args["model_version"])
        self._model = HostModel(folder)
        self._backend: Any = importlib.import_module("triton_python_backend_utils")

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        backend = self._backend
        try:
            tensors = {port.tensor: self._tensor(request, port) for port in self._model.inputs}
            results = self._model.run(tensors, request.requested_output_names())
            return backend.InferenceResponse([backend.Tensor(name, array) for name, array in results.items()])
        except Exception as error:  # whatever it is, the client waits for an answer
            text = str(error) if isinstance(error, GepipeError) else f"{type(error).__name__}: {error}"
            at_fault = isinstance(error, (DecodeError, SampleError))  # the client, not the server
            code = backend.TritonError.INVALID_ARG if at_fault else backend.TritonError.INTERNAL
            message = f"pipeline '{self._model.pipeline}': {text}"
            return backend.InferenceResponse(error=backend.TritonError(message, code))

    def _tensor(self, request: Any, port: Port) -> Array:
        tensor = self._backend.get_input_tensor_by_name(request, port.tensor)
        if tensor is None:
            raise SampleError(f"there is no input '{port.tensor}'", fix="send all inputs")
        array: Array = tensor.as_numpy()
        return array


def _varies(spec: TensorSpec) -> bool:
    return any(len(dim.values) > 1 for dim in spec.graded)


def _port(item: Mapping[str, Any]) -> Port:
    return Port(item["tensor"], item["key"], spec_from_json(item["spec"]), item["count"])


def _step(item: Mapping[str, Any], folder: str) -> Step:
    outputs = tuple((key, name, spec_from_json(spec)) for key, name, spec in item["outputs"])
    return Step(item["name"], op_from_json(dict(item), folder), tuple(item["inputs"]), outputs, item["where"])


def _value(array: Array, port: Port, row: int, count: int, lengths: Mapping[str, int]) -> Any:
    if not port.spec.shape:
        value = array.reshape(count)[row]
        return value if isinstance(value, bytes) else str(value).encode()
    return array[row][: lengths[port.count]] if port.count else array[row]
