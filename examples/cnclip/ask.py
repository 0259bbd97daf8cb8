"""Ask a Triton server, in every way that it has. Needs numpy and tritonclient[http,grpc], nothing else.

This file is the same in each example.
"""

from __future__ import annotations

import argparse
import json
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, serialize_byte_tensor, triton_to_np_dtype
from tritonclient.utils import shared_memory as memory

Array = np.ndarray[Any, np.dtype[Any]]
Sample = Mapping[str, bytes]
CONNECTIONS = 8  # of the HTTP client


class Server:
    """A model on a server.

    grpc: instead of HTTP. at_once: send every request before the first answer is there. shared: the tensors lie in
    memory that a server on the same machine reads and writes, and do not go through the network; outputs of bytes do,
    since nobody knows how much room they need.
    Errors: tritonclient's InferenceServerException, with the server's own words; OSError.
    """

    def __init__(
        self, model: str, url: str, *, grpc: bool = False, at_once: bool = False, shared: bool = False
    ) -> None:
        self.library: Any = tritonclient.grpc if grpc else tritonclient.http
        self.client = self.library.InferenceServerClient(url, **({} if grpc else {"concurrency": CONNECTIONS}))
        self.model = model
        self._as_json = {"as_json": True} if grpc else {}
        self._send = one_by_one if not at_once else with_callbacks if grpc else with_handles
        self._request = SharedRequest if shared else Request
        metadata = reached(url, grpc, partial(self.client.get_model_metadata, model, **self._as_json))
        self.inputs, self.outputs = ({port["name"]: port for port in metadata[side]} for side in ("inputs", "outputs"))

    def ask(self, samples: Sequence[Sample]) -> list[dict[str, Array]]:
        """The outputs for each sample; counted ones have zeros behind."""
        with ExitStack() as stack:
            requests = [stack.enter_context(self._request(self, sample)) for sample in samples]
            answers = self._send(self, requests)
            return [request.read(answer) for request, answer in zip(requests, answers)]

    def labels(self, model: str) -> list[str]:
        """The names of the classes of an ONNX model: the export wrote them into the configuration."""
        config = self.client.get_model_config(self.model, **self._as_json)
        found = config.get("config", config)["parameters"][f"labels.{model}"]["string_value"]
        return [str(label) for label in json.loads(found)]


def reached(url: str, grpc: bool, ask: Callable[[], Any]) -> Any:
    """The first answer. A wrong port answers in another language, and what the libraries raise then does not say so."""
    way, other, usual = ("gRPC", "leave --grpc out", 8001) if grpc else ("HTTP", "add --grpc", 8000)
    try:
        return ask()
    except OSError:
        raise
    except Exception as error:
        if isinstance(error, InferenceServerException) and error.status() != "StatusCode.UNAVAILABLE":
            raise  # the server's own words
        message = f"{url} does not answer by {way}: {error}\nfix: give its {way} port, {usual} as a rule, or {other}"
        raise InferenceServerException(message) from error


def one_by_one(server: Server, requests: Sequence[Request]) -> list[Any]:
    return [server.client.infer(server.model, request.inputs, outputs=request.outputs) for request in requests]


def with_handles(server: Server, requests: Sequence[Request]) -> list[Any]:
    """HTTP: each request gives a handle at once."""
    send = server.client.async_infer
    handles = [send(server.model, request.inputs, outputs=request.outputs) for request in requests]
    return all_of([handle.get_result for handle in handles])


def with_callbacks(server: Server, requests: Sequence[Request]) -> list[Any]:
    """gRPC: a function of ours is called with each answer, in any order, on another thread."""
    answers: list[Future[Any]] = [Future() for _ in requests]

    def done(future: Future[Any], result: Any, error: Exception | None) -> None:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    for request, future in zip(requests, answers):
        server.client.async_infer(server.model, request.inputs, partial(done, future), outputs=request.outputs)
    return all_of([future.result for future in answers])


def all_of(answers: Sequence[Callable[[], Any]]) -> list[Any]:
    """Wait for every answer, then raise the first error: until then the server may write into shared memory."""
    results, errors = [], []
    for answer in answers:
        try:
            results.append(answer())
        except InferenceServerException as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return results


class Request:
    """A sample that is sent as it is."""

    def __init__(self, server: Server, sample: Sample) -> None:
        self.server = server
        self.tensors = {name: one_row(value, server.inputs[name]["shape"]) for name, value in sample.items()}

    def __enter__(self) -> Request:
        library = self.server.library
        self.inputs = [library.InferInput(name, array.shape, "BYTES") for name, array in self.tensors.items()]
        for tensor in self.inputs:
            tensor.set_data_from_numpy(self.tensors[tensor.name()])
        self.outputs = [library.InferRequestedOutput(name) for name in self.server.outputs]
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def read(self, answer: Any) -> dict[str, Array]:
        return {name: answer.as_numpy(name)[0] for name in self.server.outputs}


class SharedRequest(Request):
    """A sample in a region of memory of its own: room for the outputs, then the inputs."""

    def __enter__(self) -> SharedRequest:
        super().__enter__()
        client, name = self.server.client, f"gepipe-{uuid.uuid4().hex}"
        inputs = [serialize_byte_tensor(array).item() for array in self.tensors.values()]
        self._views: dict[str, tuple[Any, list[int], int]] = {}
        end = 0
        for tensor, (output, port) in zip(self.outputs, self.server.outputs.items()):
            if port["datatype"] == "BYTES":
                continue  # comes with the answer
            shape = [abs(int(size)) for size in port["shape"]]
            dtype = np.dtype(triton_to_np_dtype(port["datatype"]))
            nbytes = math.prod(shape) * dtype.itemsize
            tensor.set_shared_memory(name, nbytes, end)
            self._views[output] = dtype, shape, end
            end += nbytes
        with ExitStack() as undo:
            self._region = memory.create_shared_memory_region(name, name, end + sum(map(len, inputs)))
            undo.callback(memory.destroy_shared_memory_region, self._region)
            memory.set_shared_memory_region(self._region, [np.frombuffer(b"".join(inputs), np.uint8)], end)
            for tensor, data in zip(self.inputs, inputs):
                tensor.set_shared_memory(name, len(data), end)
                end += len(data)
            client.register_system_shared_memory(name, name, end)
            undo.callback(client.unregister_system_shared_memory, name)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()

    def read(self, answer: Any) -> dict[str, Array]:
        region, views = self._region, self._views
        shared = {name: memory.get_contents_as_numpy(region, *view)[0].copy() for name, view in views.items()}
        return {name: shared[name] if name in shared else answer.as_numpy(name)[0] for name in self.server.outputs}


def one_row(value: bytes, shape: Sequence[Any]) -> Array:
    """A value as the tensor of one sample. In the server's shapes -1 is the batch."""
    array = np.empty(1, object)
    array[0] = value
    return array.reshape([abs(int(size)) for size in shape])


def arguments_of(description: str) -> argparse.ArgumentParser:
    """The arguments of Server: where it is, and how it is asked."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("url", metavar="HOST:PORT", help="the server's HTTP port; its gRPC port with --grpc")
    parser.add_argument("--grpc", action="store_true", help="ask by gRPC instead of HTTP")
    parser.add_argument("--async", dest="at_once", action="store_true", help="send all before the first answer")
    parser.add_argument("--shared-memory", dest="shared", action="store_true", help="pass tensors in shared memory")
    return parser
