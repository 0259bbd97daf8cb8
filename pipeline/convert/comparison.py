"""Comparison: how far the answers of two models are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ge_engine.verify import difference
from ops import Array, DeviceError, ModelError

Answers = Mapping[str, Array]


@dataclass(frozen=True)
class Row:
    """One output on one set of inputs. relative: the largest difference over the largest value; 0.0 for equal bytes.

    shape: None where there is no answer at all.
    """

    sample: str
    output: str
    shape: tuple[int, ...] | None
    absolute: float
    relative: float
    ok: bool


def compared(sample: str, wanted: Answers, got: Answers | DeviceError, tolerance: float) -> list[Row]:
    """Errors: as paired."""
    if isinstance(got, DeviceError):
        return [Row(sample, name, None, float("inf"), float("inf"), False) for name in wanted]
    return [_row(sample, name, array, got[name], tolerance) for name, array in paired(wanted, got).items()]


def paired(wanted: Answers, got: Answers) -> Answers:
    """The wanted outputs under the names of those that are there: by name, or by place where the names are others.

    Errors: ModelError where there are not as many.
    """
    if set(got) <= set(wanted):
        return {name: wanted[name] for name in got}
    if len(wanted) != len(got):
        raise ModelError(
            f"the source gives {', '.join(wanted)}, and what was made of it {', '.join(got)}",
            fix="name the outputs that are wanted: --outputs",
        )
    return dict(zip(got, wanted.values()))


def _row(sample: str, name: str, wanted: Array, got: Array, tolerance: float) -> Row:
    relative = difference([wanted], [got])
    absolute = float("inf")
    if np.isfinite(relative):
        with np.errstate(invalid="ignore"):
            gap = np.abs(wanted.astype(np.float64) - got.astype(np.float64))
        absolute = float(np.nanmax(gap, initial=0.0))
    return Row(sample, name, got.shape, absolute, relative, relative <= tolerance)
