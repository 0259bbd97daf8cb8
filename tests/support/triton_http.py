"""A client for Triton's HTTP interface: arrays there and back as bytes, one request at a time."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.triton.rest import Rest

TYPES = {"float16": "FP16", "float32": "FP32", "bool": "BOOL"}  # others: numpy's name in capitals


class Refused(Exception):
    """The server's answer to a request that failed."""


class Client:
    """A connection of one thread."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url, timeout=60)

    def infer(self, model: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """The outputs by name: all, or those asked for. Errors: Refused."""
        binary = {"binary_data": True}
        wanted = {"outputs": [{"name": name, "parameters": binary} for name in outputs]} if outputs else {}
        head = json.dumps(
            {
                **wanted,
                "inputs": [
                    {
                        "name": name,
                        "shape": array.shape,
                        "datatype": TYPES.get(array.dtype.name, array.dtype.name.upper()),
                        "parameters": {"binary_data_size": array.nbytes},
                    }
                    for name, array in inputs.items()
                ],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        body = b"".join([head, *(array.tobytes() for array in inputs.values())])
        length = "Inference-Header-Content-Length"
        self._connection.request("POST", f"/v2/models/{model}/infer", body, {length: str(len(head))})
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise Refused(f"{answer.status}: {json.loads(data)['error']}")
        return _arrays(data, int(answer.headers[length]))

    def close(self) -> None:
        self._connection.close()


def batches(rest: Rest, model: str) -> dict[int, int]:
    """The batch sizes that a model was given, and how often."""
    (found,) = rest._json(f"v2/models/{model}/stats")["model_stats"]
    return {int(one["batch_size"]): int(one["compute_infer"]["count"]) for one in found["batch_stats"]}


def _arrays(data: bytes, head: int) -> dict[str, np.ndarray]:
    names = {triton: numpy for numpy, triton in TYPES.items()}
    arrays, offset = {}, head
    outputs: list[dict[str, Any]] = json.loads(data[:head])["outputs"]
    for one in outputs:
        size = one["parameters"]["binary_data_size"]
        dtype = names.get(one["datatype"], one["datatype"].lower())
        arrays[one["name"]] = np.frombuffer(data[offset : offset + size], dtype).reshape(one["shape"])
        offset += size
    return arrays
