"""Softmax: scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, require, require_axis


@dataclass(frozen=True)
class Softmax(Op[Edge]):
    """exp(x - max) / sum(exp(x - max)) along one axis of a sample: scores of any size, none overflows.

    Input:      x  float32[...]  scores; axis counts without the batch
    Output:     y  float32[...]  0..1, their sum is 1 along axis
    Errors:     SpecError when the sample has no such axis.
    Reference:  scipy.special.softmax
    Deviation:  1e-6 relative to the float64 formula; as there, a NaN, a +inf or nothing but -inf along the axis makes
                all of it NaN

    >>> Softmax().run(np.array([100, 0], np.float32)).round(6).tolist()
    [1.0, 0.0]
    """

    lowered_within: ClassVar[float | None] = 1e-6
    axis: int = -1

    def infer(self, x: TensorSpec) -> TensorSpec:
        require(x, "x", dtype=("float32",), fix='put Cast("float32") before it')
        require_axis(x, "x", self.axis)
        return x

    def run(self, x: Array, out: Array | None = None) -> Array:
        if out is None:
            out = np.empty_like(x)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(x, x.max(self.axis, keepdims=True, initial=-np.inf), out=out)
            np.exp(out, out=out)
            np.divide(out, out.sum(self.axis, keepdims=True), out=out)
        return out

    def lower(self, g: Builder, x: Value) -> Value:
        return g.op("Softmax", x, axis=self.axis + (self.axis >= 0))
