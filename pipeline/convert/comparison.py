"""Comparison: how far the answers of two models are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ge_engine.verify import difference
from ops import Array, ModelError

Answers = Mapping[str, Array]


@dataclass(frozen=True)
class Row:
    """One output on one set of inputs. relative: the largest difference over the largest value; 0.0 for equal bytes."""

    sample: str
    output: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    ok: bool


def compared(sample: str, wanted: Answers, got: Answers, tolerance: float) -> list[Row]:
    """Outputs go by name, or by place where the names are others.

    Errors: ModelError where there are not as many.
    """
    if set(got) <= set(wanted):
        return [_row(sample, name, wanted[name], array, tolerance) for name, array in got.items()]
    if len(wanted) != len(got):
        raise ModelError(
            f"the source gives {', '.join(wanted)}, and what was made of it {', '.join(got)}",
            fix="name the outputs that are wanted: --outputs",
        )
    return [_row(sample, name, wanted[other], array, tolerance) for other, (name, array) in zip(wanted, got.items())]


def _row(sample: str, name: str, wanted: Array, got: Array, tolerance: float) -> Row:
    relative = difference([wanted], [got])
    absolute = float("inf")
    if np.isfinite(relative):
        with np.errstate(invalid="ignore"):
            gap = np.abs(wanted.astype(np.float64) - got.astype(np.float64))
        absolute = float(np.nanmax(gap, initial=0.0))
    return Row(sample, name, got.shape, absolute, relative, relative <= tolerance)
