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
    @property
    def is_floating_point(self) -> bool:
        return "float" in self


float32, int64 = DType("torch.float32"), DType("torch.int64")


class Tensor:
    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype, self.shape = DType(f"torch.{array.dtype}"), array.shape

    def to(self, dtype: DType) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.array

    def min(self) -> Any:
        return self.array.min()

    def max(self) -> Any:
        return self.array.max()


class Module:
    def eval(self) -> Any:
        return self

    def __call__(self, *arguments: Tensor, **named: Tensor) -> Any:
        return self.forward(*arguments, **named)  # type: ignore[attr-defined]


class Net(Module):
    """y = x * factor. fixed: the axis that its ONNX file has as it was traced. at_random: another factor each time."""

    def __init__(self, factor: float, exported: float, fixed: int | None = None, at_random: bool = False) -> None:
        self.factor, self.exported = np.float32(factor), np.float32(exported)
        self.fixed, self.at_random = fixed, at_random

    def forward(self, x: Tensor) -> Tensor:
        return Tensor(x.array * (np.float32(np.random.default_rng().random()) if self.at_random else self.factor))

    def exports(self, inputs: Sequence[str], outputs: Sequence[str], x: Tensor) -> tuple[list[Any], dict[str, Any]]:
        from onnx import helper

        shape = np.int64([size if axis == self.fixed else -(axis != 0) for axis, size in enumerate(x.shape)])
        if self.fixed is None:
            return [helper.make_node("Mul", [inputs[0], "factor"], outputs)], {"factor": self.exported}
        scaled = helper.make_node("Mul", [inputs[0], "factor"], ["scaled"])
        reshaped = helper.make_node("Reshape", ["scaled", "shape"], outputs)
        return [scaled, reshaped], {"factor": self.exported, "shape": shape}


class Lookup(Module):
    """Rows of a table. A mask may come first, and changes nothing."""

    def __init__(self, rows: int) -> None:
        self.table = np.arange(rows, dtype=np.float32)

    def forward(self, mask: Tensor | None = None, ids: Tensor | None = None) -> Tensor:
        assert ids is not None
        return Tensor(self.table[ids.array])

    def exports(self, inputs: Sequence[str], outputs: Sequence[str], *_: Tensor) -> tuple[list[Any], dict[str, Any]]:
        from onnx import helper

        return [helper.make_node("Gather", ["table", inputs[-1]], outputs)], {"table": self.table}


def rand(shape: Sequence[int]) -> Tensor:
    return Tensor(np.zeros(shape, np.float32))


def zeros(shape: Sequence[int], dtype: DType = float32) -> Tensor:
    return Tensor(np.zeros(shape, dtype.removeprefix("torch.")))


def cat(tensors: Sequence[Tensor]) -> Tensor:
    return Tensor(np.concatenate([tensor.array for tensor in tensors]))


def from_numpy(array: Any) -> Tensor:
    return Tensor(array)


def no_grad() -> Any:
    return contextlib.nullcontext()


def _export(model: Any, arguments: tuple[Tensor, ...], target: str, **settings: Any) -> None:
    from onnx import helper, numpy_helper, save

    assert settings["dynamo"] is False
    names, axes = settings["input_names"], settings["dynamic_axes"]

    def port(name: str, like: Tensor) -> Any:
        kind = helper.np_dtype_to_tensor_dtype(like.array.dtype)
        dims = [axes.get(name, {}).get(axis, size) for axis, size in enumerate(like.shape)]
        return helper.make_tensor_value_info(name, kind, dims)

    inner = getattr(model, "model", model)
    nodes, weights = inner.exports(names, settings["output_names"], *arguments)
    ports = [port(name, tensor) for name, tensor in zip(names, arguments)]
    results = [helper.make_tensor_value_info(name, 1, None) for name in settings["output_names"]]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "net", ports, results, tensors)
    opset = helper.make_opsetid("", settings["opset_version"])
    save(helper.make_model(graph, opset_imports=[opset], ir_version=8), target)


onnx = SimpleNamespace(export=_export)
nn = SimpleNamespace(Module=Module)
