"""What the server's side would read from an ONNX file: inputs, outputs, opset, operators. No weights are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Union

import onnx
from onnx import TensorProto

from ge_engine.inspect.operators import ARITHMETIC
from ge_engine.shapes import shape_of
from ge_engine.skeleton import read_skeleton
from ops import SpecError

from .tensor import Tensor, triton_type

Dim = Union[int, str]


@dataclass(frozen=True)
class OnnxTensor:
    """An input or output of an ONNX file; a variable dim is its name, "" without one."""

    name: str
    data_type: str
    dims: tuple[Dim, ...] | None  # None: the file does not say

    def tensor(self, batched: bool) -> Tensor:
        """As a config would list it: the first axis is the batch where the model is batched."""
        dims = tuple(dim if isinstance(dim, int) else -1 for dim in self.dims or ())
        return Tensor(self.name, self.data_type, dims[1:] if batched else dims)


@dataclass(frozen=True)
class OnnxFacts:
    """An ONNX file without its weights."""

    path: str
    inputs: tuple[OnnxTensor, ...]
    outputs: tuple[OnnxTensor, ...]
    opset: int
    ir: int
    operators: frozenset[str]  # of ONNX's own domain
    int64_operators: frozenset[str]  # those that calculate with an int64 input of the model

    @property
    def batched(self) -> bool:
        """Whether the first axis of every input and output is variable."""
        return all(tensor.dims and not isinstance(tensor.dims[0], int) for tensor in (*self.inputs, *self.outputs))


def onnx_facts(path: str) -> OnnxFacts:
    """The facts of a file. Errors: ModelError, as read_skeleton."""
    return _facts(read_skeleton(path))


@lru_cache(maxsize=256)
def _facts(skeleton: Any) -> OnnxFacts:
    return facts_of_model(skeleton.path, skeleton.model, skeleton.opset)


def facts_of_model(path: str, model: onnx.ModelProto, opset: int) -> OnnxFacts:
    """The facts of a model that has been read."""
    graph = model.graph
    nodes = [node for node in graph.node if node.domain in ("", "ai.onnx")]
    int64 = {value.name for value in graph.input if value.type.tensor_type.elem_type == TensorProto.INT64}
    return OnnxFacts(
        path,
        tuple(_tensor(value) for value in graph.input),
        tuple(_tensor(value) for value in graph.output),
        opset,
        model.ir_version,
        frozenset(node.op_type for node in nodes),
        frozenset(n.op_type for n in nodes if n.op_type in ARITHMETIC and int64.intersection(n.input[:1])),
    )


def _tensor(value: onnx.ValueInfoProto) -> OnnxTensor:
    shape = shape_of(value)
    dims = None if shape is None else tuple("" if dim is None else dim for dim in shape)
    return OnnxTensor(value.name, _type(value.type.tensor_type.elem_type), dims)


def _type(elem_type: int) -> str:
    try:
        return triton_type(elem_type)
    except SpecError:  # Triton has no such type, or the file does not say
        return "TYPE_INVALID"
