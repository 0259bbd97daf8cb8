"""Similarity: how alike two embeddings are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import SpecError
from .op import Builder, Edge, Op, Value
from .spec import Array, TensorSpec, may_agree, require


@dataclass(frozen=True)
class Similarity(Op[Edge]):
    """The dot product of one embedding with another, or with each of N (a constant, mostly).

    For vectors of length 1 (see L2Normalize) it is the cosine.

    Input:      a      float32[D]    one embedding
                b      float32[N,D]  N embeddings, or one: float32[D]
    Output:     score  float32[N]    -1..1 for vectors of length 1; float32[1] for one embedding
    Errors:     SpecError when a is not one embedding, or D differs.
    Reference:  numpy.matmul
    Deviation:  1e-6 for vectors of length 1 (the order of the sum)

    >>> str(Similarity().infer(TensorSpec("float32", (512,)), TensorSpec("float32", (1000, 512))))
    'float32[1000]'
    """

    def infer(self, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        require(a, "a", dtype=("float32",))
        require(b, "b", dtype=("float32",))
        require(a, "a", rank=1, fix="a is one embedding; give the N embeddings as b")
        if b.rank not in (1, 2):
            raise SpecError(f"{b}: rank is {b.rank}, wanted 1 or 2", fix="give float32[D] or float32[N,D]", input="b")
        if not may_agree(a.shape[0], b.shape[-1]):
            raise SpecError(
                f"{b}: b has {b.shape[-1]} values an embedding but a ({a}) has {a.shape[0]}",
                fix="compare embeddings of the same model; b is [N,D], not [D,N]",
                input="b",
            )
        return TensorSpec("float32", b.shape[:-1] or (1,))

    def run(self, a: Array, b: Array, out: Array | None = None) -> Array:
        # matmul is numpy's BLAS: a server with another numpy would give other last bits.
        result: Array = np.einsum("nd,d->n", np.atleast_2d(b), a, out=out)
        return result

    def lower(self, g: Builder, a: Value, b: Value) -> Value:
        # MatMul broadcasts over the batch: a constant b is [1,N,D] beside a of [B,D,1].
        rows = b if b.spec.rank == 2 else g.op("Unsqueeze", b, g.constant(np.array([1])))
        column = g.op("Unsqueeze", a, g.constant(np.array([2])))
        return g.op("Squeeze", g.op("MatMul", rows, column), g.constant(np.array([2])))
