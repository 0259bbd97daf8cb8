"""Models as npu_ge meets them: a folder of the repository, and its configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx_files import Dims, node, save, tensor

from ge_engine.npu_ge.options import Options
from ge_engine.npu_ge.ports import TRITON, Port, Ports
from ge_engine.npu_ge.program import Program
from ge_engine.npu_ge.setup import Setup
from ge_engine.runtime import OrtGraph


def tanh_model(path: Path, *, x: Dims = ("batch", 8), y: Dims = ("batch", 4)) -> Path:
    """y = tanh(x W): every output depends on every input of its row."""
    weights = {"w": np.random.default_rng(0).normal(size=(x[-1], y[-1])).astype(np.float32)}
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Tanh", ["h"], ["y"])]
    return save(path, nodes, [tensor("x", x)], [tensor("y", y)], weights)


def table_model(path: Path) -> Path:
    """y = table[ids]: an id of 10 or more makes the whole run fail."""
    weights = {"table": np.random.default_rng(1).normal(size=10).astype(np.float32)}
    ports = [tensor("ids", ("batch", 3), np.int64)], [tensor("y", ("batch", 3))]
    return save(path, [node("Gather", ["table", "ids"], ["y"])], *ports, weights)


def pool_model(path: Path, *, name: str = "height/2*(width/2)") -> Path:
    """Windows of 2 x 2 of a picture, as rows: how many there are depends on its size."""
    nodes = [
        node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Reshape", ["p", "rows"], ["r"]),
        node("Transpose", ["r"], ["y"], perm=[0, 2, 1]),
    ]
    ports = [tensor("x", (1, 3, "height", "width"))], [tensor("y", (1, name, 3))]
    return save(path, nodes, *ports, {"rows": np.int64([1, 3, -1])})


def config_text(
    *,
    max_batch_size: int = 0,
    inputs: Sequence[Port] = (),
    outputs: Sequence[Port] = (),
    count: int = 1,
    preferred: Sequence[int] | None = None,
    delay_us: int = 0,
    parameters: dict[str, str] | None = None,
) -> str:
    """A config.pbtxt; preferred=() is an empty dynamic_batching."""

    def ports(what: str, ports: Sequence[Port]) -> str:
        return "".join(
            f'{what} {{ name: "{port.name}" data_type: {TRITON[port.dtype]} dims: {list(port.dims)} }}\n'
            for port in ports
        )

    text = f'backend: "npu_ge"\nmax_batch_size: {max_batch_size}\n{ports("input", inputs)}{ports("output", outputs)}'
    text += f"instance_group {{ kind: KIND_CPU count: {count} }}\n"
    if preferred is not None:
        delay = f"max_queue_delay_microseconds: {delay_us}"
        text += f"dynamic_batching {{ preferred_batch_size: {list(preferred)} {delay} }}\n"
    for key, value in (parameters or {}).items():
        text += f"parameters {{ key: {json.dumps(key)} value {{ string_value: {json.dumps(value)} }} }}\n"
    return text


def gears(shape: str, dims: str) -> dict[str, str]:
    keys = {"ge.inputShape": shape, "ge.dynamicDims": dims, "ge.dynamicNodeType": "1"}
    return {f"graph.{key}": value for key, value in keys.items()}


def program(path: Path, *, max_batch_size: int = 0, preferred: bool = False, **parameters: str) -> Program:
    """A model loaded without a server, configured with its own ports."""
    graph = OrtGraph(path, threads=1)
    own = Ports.of_session(graph.session)
    cut = 1 if max_batch_size else 0
    config: dict[str, Any] = {
        "name": "m",
        "max_batch_size": max_batch_size,
        "dynamic_batching": {"preferred_batch_size": [max_batch_size] if preferred else []},
        "parameters": {key: {"string_value": value} for key, value in parameters.items()},
    }
    for what, ports in (("input", own.inputs), ("output", own.outputs)):
        config[what] = [{"name": port.name, "data_type": TRITON[port.dtype], "dims": port.dims[cut:]} for port in ports]
    return Program(graph, Setup.of(config, own, Options.of(config, {})))
