"""L2Normalize: vectors to unit length, so that a dot product is a cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, require, require_axis


@dataclass(frozen=True)
class L2Normalize(Op[Edge]):
    """x / max(|x|, eps) along one axis of a sample; a zero vector stays zero.

    Input:      x  float32[...]  axis counts without the batch
    Output:     y  float32[...]  length 1 along axis
    Errors:     SpecError when the sample has no such axis, or eps is not above 0.
    Reference:  torch.nn.functional.normalize
    Deviation:  1e-6 relative to the float64 formula where squares neither overflow nor vanish (1e-18 < |x| < 1e18);
                beyond, 0 or shorter than 1, in torch too

    >>> L2Normalize().run(np.array([3, 4], np.float32)).round(6).tolist()
    [0.6000000238418579, 0.800000011920929]
    """

    lowered_within: ClassVar[float | None] = 1e-6
    axis: int = -1
    eps: float = 1e-12

    def infer(self, x: TensorSpec) -> TensorSpec:
        require(x, "x", dtype=("float32",), fix='put Cast("float32") before it')
        require_axis(x, "x", self.axis)
        if not 0 < self.eps <= np.finfo(np.float32).max or not np.float32(self.eps) > 0:
            raise SpecError(f"eps is {self.eps}, wanted a float32 above 0", fix="leave it at 1e-12")
        return x

    def run(self, x: Array, out: Array | None = None) -> Array:
        if out is None:
            out = np.empty_like(x)
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(x, x, out=out)
            length = np.sqrt(out.sum(self.axis, keepdims=True))
            np.divide(x, np.maximum(length, np.float32(self.eps)), out=out)
        return out

    def lower(self, g: Builder, x: Value) -> Value:
        # ReduceL2 takes its axes differently before and after opset 18; ReduceSum does not change from 13.
        axes = g.constant(np.array([self.axis + (self.axis >= 0)], np.int64))
        length = g.op("Sqrt", g.op("ReduceSum", g.op("Mul", x, x), axes, keepdims=1))
        return g.op("Div", x, g.op("Max", length, g.constant(np.array([self.eps], np.float32))))
