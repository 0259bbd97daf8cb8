"""Ports: the inputs and outputs of a model, as its file and as its configuration have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ops.spec import canonical_dtype

from ..openvino_runtime import OpenVinoGraph
from ..tensorflow.graph_def import read_graph_def

TRITON = {  # what npu_ge knows in config.pbtxt
    "float32": "TYPE_FP32",
    "float16": "TYPE_FP16",
    "int8": "TYPE_INT8",
    "int16": "TYPE_INT16",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "uint8": "TYPE_UINT8",
    "uint16": "TYPE_UINT16",
    "uint32": "TYPE_UINT32",
    "uint64": "TYPE_UINT64",
    "bool": "TYPE_BOOL",
}
UNKNOWN = ("float64", "bfloat16", "bytes")  # all other dtypes
READ_FROM_ONNX = frozenset(TRITON) - {"float16", "bool", "uint32", "uint64"}


class Port(NamedTuple):
    """One input or output. A dim of -1 varies; names[i] is what the ONNX file calls dim i, if it has a name.

    Where there are no names at all, they are of a TensorFlow graph, or of a configuration.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    names: tuple[str, ...] = ()
    reshaped: bool = False

    def __str__(self) -> str:
        dims = ",".join(name or str(dim) for dim, name in zip(self.dims, self.names or ("",) * len(self.dims)))
        return f"{self.name} {self.dtype}[{dims}]"


class Ports(NamedTuple):
    """All of a model, in order: npu_ge goes by place, not by name."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @classmethod
    def of_session(cls, session: Any) -> Ports:
        """Of an ONNX Runtime session."""
        return cls(_of_values(session.get_inputs()), _of_values(session.get_outputs()))

    @classmethod
    def of_frozen(cls, path: Path, graph: OpenVinoGraph) -> Ports:
        """Of a TensorFlow graph, in the order of the file, which a runtime need not keep."""
        source = read_graph_def(str(path))
        placeholders = source.placeholders(source.leaves)
        inputs = tuple(Port(port.name, port.dtype, _dims(port.dims)) for port in placeholders)
        made = (graph.outputs[name] for name in source.leaves)
        return cls(inputs, tuple(Port(port.name, port.dtype, _dims(port.shape)) for port in made))

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Ports:
        """Of a model configuration, its dims as they stand there."""
        return cls(_of_entries(config.get("input", ())), _of_entries(config.get("output", ())))


def entry(port: Port, batched: bool) -> dict[str, Any]:
    """The entry of a model configuration; batched: the first axis is left out."""
    return {"name": port.name, "data_type": TRITON[port.dtype], "dims": list(port.dims[1:] if batched else port.dims)}


def _dims(shape: Sequence[int | str | None] | None) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else -1 for size in shape or ())


def _of_values(values: Sequence[Any]) -> tuple[Port, ...]:
    return tuple(
        Port(
            value.name,
            canonical_dtype(value.type),
            tuple(dim if isinstance(dim, int) else -1 for dim in value.shape),
            tuple(dim if isinstance(dim, str) else "" for dim in value.shape),
        )
        for value in values
    )


def _of_entries(entries: Sequence[Mapping[str, Any]]) -> tuple[Port, ...]:
    return tuple(
        Port(
            one["name"],
            canonical_dtype(one["data_type"]),
            tuple(int(dim) for dim in one["dims"]),
            reshaped="reshape" in one,
        )
        for one in entries
    )
