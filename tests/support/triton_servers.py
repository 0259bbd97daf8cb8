"""Real servers, and small repositories for them to serve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pipeline.triton.server import Server

Start = Callable[..., Server]

PLUS_ONE = """import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        xs = [pb.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        return [pb.InferenceResponse([pb.Tensor("y", x + np.float32(1))]) for x in xs]
"""

TELLS = """import json
import os
import sys

import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        import cv2

        told = {"cwd": os.getcwd(), "path": sys.path, "numpy": np.__version__, "cv2": cv2.__version__}
        answer = pb.Tensor("y", np.array([[json.dumps(told).encode()]], dtype=object))
        return [pb.InferenceResponse([answer]) for _ in requests]
"""


@pytest.fixture
def triton_server() -> Iterator[Start]:
    """Start a server on a repository, with Server's own options; each is stopped after the test."""
    with ExitStack() as stack:

        def start(repository: Path, **options: Any) -> Server:
            return stack.enter_context(Server(repository, **options))

        yield start


def model(repository: Path, name: str, *, backend: str = "python", code: str = PLUS_ONE, output: str = "FP32") -> Path:
    """A model x float32[2] -> y; the folder of its version."""
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    dims = 1 if output == "STRING" else 2
    (repository / name / "config.pbtxt").write_text(
        f'name: "{name}"\nbackend: "{backend}"\nmax_batch_size: 4\n'
        'input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]\n'
        f'output [ {{ name: "y" data_type: TYPE_{output} dims: [ {dims} ] }} ]\n'
        "instance_group [ { kind: KIND_CPU } ]\n"
    )
    (folder / ("model.py" if backend == "python" else "placeholder")).write_text(code)
    return folder


def npu_ge(folder: Path) -> Path:
    """A backend that adds one, to stand in for npu_ge."""
    folder.mkdir()
    (folder / "model.py").write_text(PLUS_ONE)
    return folder


def ask(server: Server, name: str, *, x: tuple[float, float] = (1, 2)) -> Any:
    """The y of one sample."""
    tensor = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": list(x)}
    return server.rest.infer(name, {"inputs": [tensor]})["outputs"][0]["data"]
