"""Small frozen TensorFlow graphs, written field by field in the test that uses them; no TensorFlow is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ge_engine.tensorflow.graph_def import DTYPES
from ge_engine.wire import bytes_field, number_field
from ops import Array

NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
MINUS_ONE = (1 << 64) - 1  # as protobuf writes -1


def node(name: str, op: str, inputs: Sequence[str] = (), **attributes: bytes) -> bytes:
    """A node of a graph."""
    parts = [bytes_field(1, name.encode()), bytes_field(2, op.encode())]
    parts += [bytes_field(3, text.encode()) for text in inputs]
    parts += [bytes_field(5, bytes_field(1, key.encode()) + bytes_field(2, value)) for key, value in attributes.items()]
    return bytes_field(1, b"".join(parts))


def kind(dtype: str) -> bytes:
    """The value of an attribute that is a dtype."""
    return number_field(6, NUMBERS[dtype])


def text(value: str) -> bytes:
    return bytes_field(2, value.encode())


def shape(dims: Sequence[int] | None) -> bytes:
    """A TensorShapeProto; None: not even the rank is known."""
    if dims is None:
        return number_field(3, 1)
    return b"".join(bytes_field(2, number_field(1, MINUS_ONE if dim < 0 else dim)) for dim in dims)


def placeholder(name: str, dims: Sequence[int] | None, dtype: str = "float32") -> bytes:
    return node(name, "Placeholder", dtype=kind(dtype), shape=bytes_field(7, shape(dims)))


def constant(name: str, value: Array) -> bytes:
    """A Const: dtype = 1, tensor_shape = 2, tensor_content = 4."""
    number = NUMBERS[value.dtype.name]
    tensor = number_field(1, number) + bytes_field(2, shape(value.shape)) + bytes_field(4, value.tobytes())
    return node(name, "Const", dtype=number_field(6, number), value=bytes_field(8, tensor))


def float_op(name: str, op: str, *inputs: str, **attributes: bytes) -> bytes:
    return node(name, op, inputs, T=kind("float32"), **attributes)


def save(path: Path, *nodes: bytes, library: bytes = b"") -> Path:
    versions = bytes_field(4, number_field(1, 1087))
    path.write_bytes(b"".join(nodes) + versions + library)
    return path


def weights(size: int = 8, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(size, 4)).astype(np.float32)


def dense_graph(path: Path, batch: int = -1, size: int = 8, extra: Sequence[bytes] = ()) -> Path:
    """x float32[size] -> tanh(x @ weights), `y`: float32[4]."""
    return save(
        path,
        placeholder("x", (batch, size)),
        constant("w", weights(size)),
        float_op("product", "MatMul", "x", "w"),
        float_op("y", "Tanh", "product"),
        *extra,
    )


def dense_answer(x: Array) -> Array:
    """What dense_graph gives, by numpy."""
    return np.tanh(x @ weights(x.shape[-1]))


def sized_graph(path: Path) -> Path:
    """image uint8[H,W,3] -> `mean` float32[3] of the picture, and `twice` float32[H,W,3], the picture doubled."""
    return save(
        path,
        placeholder("image", (-1, -1, -1, 3), "uint8"),
        node("pixels", "Cast", ("image",), SrcT=kind("uint8"), DstT=kind("float32")),
        constant("axes", np.int32([1, 2])),
        float_op("mean", "Mean", "pixels", "axes", Tidx=kind("int32")),
        float_op("twice", "AddV2", "pixels", "pixels"),
    )
