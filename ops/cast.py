"""Cast: the same numbers in another dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, canonical_dtype

_ONNX = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
}


@dataclass(frozen=True)
class Cast(Op[Edge]):
    """Change the dtype.

    Float to integer cuts the fraction off and saturates (NaN is 0), a wider integer to a narrower one keeps its low
    bits, anything but 0 is true, a float too large for the target is infinite.

    Input:      x  any[...]    a number or bool
    Output:     y  dtype[...]  the same shape
    Errors:     SpecError for bytes and bfloat16, and for float64 to float16 (runtimes round it twice).
    Reference:  ONNX Cast
    Deviation:  none; ONNX leaves NaN, and floats out of the integer's range, undefined: here they saturate, to the last
                float within the range

    >>> str(Cast("float16").infer(TensorSpec("float32", ("n", 4))))
    'float16[n,4]'
    """

    lowered_within: ClassVar[float | None] = 0.0
    dtype: str

    def infer(self, x: TensorSpec) -> TensorSpec:
        target = canonical_dtype(self.dtype)
        if x.dtype not in _ONNX:
            raise SpecError(f"{x}: {x.dtype} cannot be cast to {target}", fix="give numbers or bool", input="x")
        if target not in _ONNX:
            raise SpecError(f"{x}: {x.dtype} cannot be cast to {target}", fix=f"use one of {', '.join(_ONNX)}")
        if (x.dtype, target) == ("float64", "float16"):
            raise SpecError(
                f"{x}: float64 to float16 is rounded once or twice, as the runtime likes",
                fix='say Cast("float32"), then Cast("float16")',
                input="x",
            )
        return TensorSpec(target, x.shape)

    def run(self, x: Array, out: Array | None = None) -> Array:
        target = np.dtype(canonical_dtype(self.dtype))
        if out is None:
            out = np.empty(x.shape, target)
        if _saturates(x.dtype, target):
            x = np.nan_to_num(x.astype(np.float32) if x.dtype == np.float16 else x, nan=0)
            np.clip(x, *_limits(x.dtype, target), out=x)
        with np.errstate(over="ignore"):
            np.copyto(out, x, casting="unsafe")
        return out

    def lower(self, g: Builder, x: Value) -> Value:
        source, target = x.spec.numpy, np.dtype(canonical_dtype(self.dtype))
        if _saturates(source, target):
            if source == np.float16:  # exact, and float16 does not hold the limits of every integer
                source = np.dtype(np.float32)
                x = g.op("Cast", x, to=_ONNX["float32"])
            low, high = _limits(source, target)
            x = g.op("Where", g.op("IsNaN", x), g.constant(np.zeros(1, source)), x)
            x = g.op("Clip", x, g.constant(low), g.constant(high))
        return g.op("Cast", x, to=_ONNX[target.name])


def _saturates(source: np.dtype[np.generic], target: np.dtype[np.generic]) -> bool:
    return source.kind == "f" and target.kind in "iu"


def _limits(source: np.dtype[np.generic], target: np.dtype[np.generic]) -> tuple[Array, Array]:
    """The first and the last float that the integer type holds."""
    info = np.iinfo(target)  # type: ignore[type-var]  # an integer dtype, by _saturates
    low, high = np.array(info.min, source), np.array(info.max, source)
    if int(high) > info.max:  # 2**31 - 1 is not a float32; 2**31 is, and is too large
        high = np.array(np.nextafter(high, np.zeros((), source)))
    return low, high
