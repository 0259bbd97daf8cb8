"""TopK: the best classes, by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from .asset import Asset
from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, require, require_whole


class Ranking(NamedTuple):
    """What TopK makes; one row a rank, the best first."""

    scores: Edge
    indices: Edge
    labels: Edge


@dataclass(frozen=True)
class TopK(Op[Ranking]):
    """The k largest scores, best first; of equal ones the lower index. NaN ranks below every number.

    labels: a name for each class, or a file (UTF-8) with one a line, relative to the file that declares it.

    Input:      x        float32[C]  a score a class
    Output:     scores   float32[k]  descending
                indices  int32[k]    0..C-1
                labels   bytes[k]    UTF-8; empty without labels
    Errors:     SpecError when C is not fixed, k is not in 1..C, there is no such file, or labels are not C.
    Reference:  ONNX TopK
    Deviation:  none; ONNX leaves NaN undefined. In a graph -inf ranks as the least float does.

    >>> TopK(k=2, labels=("cat", "dog", "bus")).run(np.array([0.1, 0.7, 0.2], np.float32))[2].tolist()
    [b'dog', b'bus']
    """

    lowered_within: ClassVar[float | None] = 0.0

    k: int
    labels: tuple[str, ...] | str | Asset = ()

    def __post_init__(self) -> None:
        if isinstance(self.labels, (str, os.PathLike)):
            object.__setattr__(self, "labels", Asset.of(self.labels))

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        require(x, "x", dtype=("float32",), rank=1)
        classes = x.shape[0]
        if not isinstance(classes, int):
            raise SpecError(f"{x}: the number of classes is not fixed", fix="give it a whole number", input="x")
        require_whole("k", self.k)
        if self.k > classes:
            raise SpecError(f"{x}: k is {self.k}, there are {classes} classes", fix=f"use 1 to {classes}", input="x")
        if isinstance(self.labels, Asset):
            self.labels.check()
        if self.labels and len(self._names) != classes:
            count = len(self._names)
            raise SpecError(
                f"{x}: there are {classes} classes but {count} label{'s' if count != 1 else ''}",
                fix="give one label a class, in the model's order",
                input="x",
            )
        return TensorSpec("float32", (self.k,)), TensorSpec("int32", (self.k,)), TensorSpec("bytes", (self.k,))

    def run(self, x: Array, out: Mapping[str, Array] | None = None) -> tuple[Array, Array, Array]:
        best = _best(x, self.k)
        made = x[best], best.astype(np.int32), self._names[best] if self.labels else np.full(self.k, b"", object)
        targets = [(out or {}).get(name) for name in Ranking._fields]
        for value, target in zip(made, targets):
            if target is not None:
                target[...] = value
        scores, indices, labels = (value if target is None else target for value, target in zip(made, targets))
        return scores, indices, labels

    def lower(self, g: Builder, x: Value) -> tuple[Value, Value]:
        """Scores and indices; no graph has the labels, so whoever reads them has it on the host."""
        least = np.array([np.finfo(np.float32).min], np.float32)  # leaves -inf for what ranks below it
        ranked = g.op(
            "Where", g.op("IsNaN", x), g.constant(np.array([-np.inf], np.float32)), g.op("Max", x, g.constant(least))
        )
        _, indices = g.ops("TopK", 2, ranked, g.constant(np.array([self.k], np.int64)), axis=1)
        return g.op("GatherElements", x, indices, axis=1), g.op("Cast", indices, to=6)

    @cached_property
    def _names(self) -> Array:
        lines = self.labels.lines() if isinstance(self.labels, Asset) else self.labels
        names = np.empty(len(lines), object)
        names[:] = [line.encode() for line in lines]
        return names


def _best(x: Array, k: int) -> Array:
    """The indices of the k largest, in order; only the candidates for a place are sorted."""
    key = -x  # numpy sorts NaN last
    worst = np.partition(key, k - 1)[k - 1]
    candidates = np.flatnonzero(key <= worst)
    if candidates.size < k:  # the worst is NaN
        candidates = np.arange(x.size)
    order = np.argsort(key[candidates], kind="stable")[:k]
    best: Array = candidates[order]
    return best
