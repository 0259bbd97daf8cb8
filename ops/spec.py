"""TensorSpec: dtype and shape of ONE sample; only ge_engine knows the batch axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from .errors import SpecError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Counted:
    """A number of rows that varies by sample, `limit` at most.

    Buffers and the wire hold `limit` rows, the rest zero, and one int32[1] tensor `num_<name>`.
    """

    name: str
    limit: int

    def __str__(self) -> str:
        return f"{self.name}<={self.limit}"


@dataclass(frozen=True)
class Graded:
    """A named dim bound to a set of values, one for each size gear.

    The i-th values of all Graded dims of a pipeline belong together: H (640, 640) and W (640, 480)
    are the sizes 640x640 and 640x480.
    """

    name: str
    values: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


LARGEST = 2**31 - 1  # of an axis: OpenCV and NPUs count no further

Dim = Union[int, str, Counted, Graded]

# The canonical name (numpy's), and the other spellings of the field: ONNX enum, ONNX, Triton, wire, OpenVINO.
_SPELLINGS: dict[str, tuple[Any, ...]] = {
    "bool": (9, "tensor(bool)", "type_bool", "boolean", "bool_"),
    "uint8": (2, "tensor(uint8)", "type_uint8", "u8"),
    "uint16": (4, "tensor(uint16)", "type_uint16", "u16"),
    "uint32": (12, "tensor(uint32)", "type_uint32", "u32"),
    "uint64": (13, "tensor(uint64)", "type_uint64", "u64"),
    "int8": (3, "tensor(int8)", "type_int8", "i8"),
    "int16": (5, "tensor(int16)", "type_int16", "i16"),
    "int32": (6, "tensor(int32)", "type_int32", "i32"),
    "int64": (7, "tensor(int64)", "type_int64", "i64"),
    "float16": (10, "tensor(float16)", "type_fp16", "fp16", "f16", "half"),
    "float32": (1, "tensor(float)", "type_fp32", "fp32", "f32", "float"),
    "float64": (11, "tensor(double)", "type_fp64", "fp64", "f64", "double"),
    "bfloat16": (16, "tensor(bfloat16)", "type_bf16", "bf16"),
    "bytes": (8, "tensor(string)", "type_string", "string", "str", "object", "bytes_"),
}
_CANONICAL = {s: name for name, spellings in _SPELLINGS.items() for s in (name, *spellings)}


def canonical_dtype(dtype: Any) -> str:
    """numpy's name for a dtype in any common spelling.

    >>> canonical_dtype("TYPE_FP32"), canonical_dtype("tensor(float)"), canonical_dtype(np.uint8)
    ('float32', 'float32', 'uint8')
    """
    if isinstance(dtype, (str, int)) and not isinstance(dtype, bool):
        key: Any = dtype.strip().lower() if isinstance(dtype, str) else dtype
    elif dtype in (bytes, str):
        key = "bytes"
    else:
        try:
            key = None if dtype is None else np.dtype(dtype).name  # numpy takes None for float64
        except TypeError:
            key = None
    try:
        return _CANONICAL[key]
    except KeyError:
        names = ", ".join(_SPELLINGS)
        raise SpecError(f"{dtype!r} is not a dtype", fix=f"use one of {names}") from None


@dataclass(frozen=True)
class TensorSpec:
    """dtype and shape of one sample.

    A dim is an int, a name ("H"), a Counted or a Graded. Rank 0 exists for bytes only: neither
    Triton nor npu_ge has scalars.

    >>> str(TensorSpec("uint8", ("H", "W", 3)))
    'uint8[H,W,3]'
    >>> str(TensorSpec("float32", (Counted("detections", 300), 4)))
    'float32[detections<=300,4]'
    """

    dtype: str
    shape: tuple[Dim, ...]

    def __init__(self, dtype: Any, shape: Sequence[Dim]) -> None:
        object.__setattr__(self, "dtype", canonical_dtype(dtype))
        object.__setattr__(self, "shape", tuple(_sound(dim, self.dtype, shape) for dim in shape))
        if not self.shape and self.dtype != "bytes":
            raise SpecError(f"{self.dtype}[]: a scalar", fix="give it the shape (1,): only bytes have rank 0")

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_fixed(self) -> bool:
        """Whether each gear knows every dim: whole numbers and Graded dims only."""
        return self.dtype != "bytes" and all(isinstance(dim, (int, Graded)) for dim in self.shape)

    @property
    def graded(self) -> tuple[Graded, ...]:
        return tuple(dim for dim in self.shape if isinstance(dim, Graded))

    @property
    def counted(self) -> tuple[Counted, ...]:
        return tuple(dim for dim in self.shape if isinstance(dim, Counted))

    @property
    def numpy(self) -> np.dtype[Any]:
        """The array dtype; bytes are objects."""
        return np.dtype(object if self.dtype == "bytes" else self.dtype)

    def at_gear(self, index: int) -> tuple[int, ...]:
        """The shape in whole numbers at size gear `index`; counted dims at their limit."""
        return tuple(_fixed(dim, index, self) for dim in self.shape)

    @property
    def max_shape(self) -> tuple[int, ...] | None:
        """The shape of the largest gear, counted dims at their limit; None if a dim is only named."""
        if any(isinstance(dim, str) for dim in self.shape):
            return None
        gears = max((len(dim.values) for dim in self.graded), default=1)
        return max((self.at_gear(index) for index in range(gears)), key=math.prod)

    @property
    def nbytes(self) -> int | None:
        """Bytes of one sample at the largest gear; None where that is not known."""
        shape = self.max_shape
        return None if shape is None or self.dtype == "bytes" else math.prod(shape) * self.numpy.itemsize

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(dim) for dim in self.shape)}]" if self.shape else self.dtype


def _sound(dim: Any, dtype: str, shape: Sequence[Any]) -> Dim:
    """A dim that can be one; numpy's whole numbers become Python's."""
    if isinstance(dim, np.integer):
        dim = int(dim)
    if isinstance(dim, Counted):
        sound = _is_name(dim.name) and is_size(dim.limit)
    elif isinstance(dim, Graded):
        sound = _is_name(dim.name) and isinstance(dim.values, tuple) and bool(dim.values)
        sound = sound and all(map(is_size, dim.values))
    else:
        sound = _is_name(dim) or is_size(dim)
    if not sound:
        text = f"{dtype}[{','.join(map(str, shape))}]"
        raise SpecError(f"{text}: a dim is {dim!r}", fix=f"give sizes from 1 to {LARGEST}, or a name for what varies")
    known: Dim = dim
    return known


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _fixed(dim: Dim, index: int, spec: TensorSpec) -> int:
    if isinstance(dim, Graded):
        return dim.values[index]
    if isinstance(dim, Counted):
        return dim.limit
    assert isinstance(dim, int), f"{spec} has a dim without a size"
    return dim


def require(spec: TensorSpec, input: str, *, dtype: Sequence[str] = (), rank: int | None = None, fix: str = "") -> None:
    """Refuse a spec that is not of one of these dtypes or not of this rank.

    Errors: SpecError with both values; `input` is the op's own name for it.
    """
    if dtype and spec.dtype not in dtype:
        want = " or ".join(dtype)
        raise SpecError(
            f"{spec}: dtype is {spec.dtype}, wanted {want}",
            fix=fix or _conversion(spec.dtype, dtype),
            input=input,
            rule="G10",
            wanted=TensorSpec(dtype[0], spec.shape) if spec.shape or dtype[0] == "bytes" else None,
        )
    if rank is not None and spec.rank != rank:
        raise SpecError(
            f"{spec}: rank is {spec.rank}, wanted {rank}",
            fix=fix or f"give a tensor of rank {rank}",
            input=input,
            rule="G11",
        )


def _conversion(dtype: str, wanted: Sequence[str]) -> str:
    """What makes one of the wanted dtypes of it."""
    if dtype == "bytes" and "uint8" in wanted:
        return "put an ops.DecodeImage before it"
    return f"convert it to {' or '.join(wanted)}" + ("" if "bytes" in (dtype, *wanted) else ", with ops.Cast")


def require_axis(spec: TensorSpec, input: str, axis: int) -> None:
    """Refuse an axis that the sample does not have; the batch is not counted.

    Errors: SpecError with both values; `input` is the op's own name for it.
    """
    if not -spec.rank <= axis < spec.rank:
        raise SpecError(
            f"{spec}: axis is {axis}, rank is {spec.rank}",
            fix=f"use {-spec.rank} to {spec.rank - 1}: the axes of one sample, without the batch",
            input=input,
        )


def may_agree(a: Dim, b: Dim) -> bool:
    """Whether two dims can be the same size; a name can be any."""
    return a == b or isinstance(a, str) or isinstance(b, str)


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether it is an int of at least `least`; a bool is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_size(value: Any) -> bool:
    """Whether it can be the size of an axis."""
    return is_whole(value) and value <= LARGEST


def require_whole(name: str, value: Any, *, least: int = 1) -> None:
    """Refuse an attribute that is not a whole number of at least `least`.

    Errors: SpecError with the attribute's name and value.
    """
    if not is_whole(value, least):
        raise SpecError(f"{name} is {value!r}", fix=f"give {name} a whole number of at least {least}")


def require_flag(name: str, value: Any) -> None:
    """Refuse an attribute that is neither True nor False: the text "false" would count as true.

    Errors: SpecError with the attribute's name and value.
    """
    if not isinstance(value, bool):
        raise SpecError(f"{name} is {value!r}", fix=f"give {name} True or False")


ENCODED_IMAGE = TensorSpec("bytes", ())
TEXT = TensorSpec("bytes", ())
