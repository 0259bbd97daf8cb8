"""As much of torch as `gepipe convert` calls, on numpy: it shows what a conversion does, without the real one's 1 GB.

A test copies this file as torch.py beside the user's own module. A model says by `factor` what it gives, and by
`exported` what its ONNX file gives: where the two differ, an export has gone wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np


class DType(str):
    is_floating_point = True


float32 = DType("torch.float32")


class Tensor:
    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype, self.shape = float32, array.shape

    def to(self, dtype: DType) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.array


class Net:
    def __init__(self, factor: float, exported: float) -> None:
        self.factor, self.exported = np.float32(factor), np.float32(exported)

    def eval(self) -> None:
        return

    def __call__(self, x: Tensor) -> Tensor:
        return Tensor(x.array * self.factor)


def rand(shape: Sequence[int]) -> Tensor:
    return Tensor(np.zeros(shape, np.float32))


def from_numpy(array: Any) -> Tensor:
    return Tensor(array)


def no_grad() -> Any:
    return contextlib.nullcontext()


def _export(model: Net, arguments: tuple[Tensor, ...], target: str, **settings: Any) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    assert settings["dynamo"] is False
    names, axes = [*settings["input_names"], *settings["output_names"]], settings["dynamic_axes"]
    ports = [
        helper.make_tensor_value_info(
            name, TensorProto.FLOAT, [axes.get(name, {}).get(i, size) for i, size in enumerate(arguments[0].shape)]
        )
        for name in names
    ]
    factor = numpy_helper.from_array(model.exported, "factor")
    node = helper.make_node("Mul", [names[0], "factor"], [names[1]])
    graph = helper.make_graph([node], "net", ports[:1], ports[1:], [factor])
    opset = helper.make_opsetid("", settings["opset_version"])
    save(helper.make_model(graph, opset_imports=[opset], ir_version=8), target)


onnx = SimpleNamespace(export=_export)
