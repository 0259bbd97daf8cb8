"""Samples: random batches that a graph can run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ops import Array

from .stage import Tensors

_IDS = ("int32", "int64", "uint32", "uint64")  # may index a table of unknown length
_RANGES = (1000, 100, 10, 2, 1)  # tried from the first: an id beyond the table fails the run

Batch = Mapping[str, Array]


def has_ids(tensors: Tensors) -> bool:
    """Whether a run may fail for the values that it is given."""
    return any(dtype in _IDS for _, dtype, _ in tensors)


def fill(shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, ids_below: int) -> Array:
    """Values as a trained network meets them: floats of 0..1, whole bytes, small ids."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        high = ids_below if dtype.name in _IDS else min(np.iinfo(dtype).max, 255) + 1
        return random.integers(0, high, shape).astype(dtype)
    return random.random(shape, np.float32).astype(dtype)


def runnable_batch(tensors: Tensors, run: Callable[[Batch], Any], seed: int = 0) -> tuple[dict[str, Array], Any, int]:
    """A random batch, what `run` made of it, and the bound of its ids: the largest one that runs.

    Errors: what `run` raises, when it fails whatever the ids.
    """
    ranges = _RANGES if has_ids(tensors) else _RANGES[-1:]
    for ids_below in ranges:
        random = np.random.default_rng(seed)
        batch = {name: fill(shape, np.dtype(dtype), random, ids_below) for name, dtype, shape in tensors}
        try:
            return batch, run(batch), ids_below
        except Exception:  # ONNX Runtime has no family of exceptions
            if ids_below == ranges[-1]:
                raise
    raise AssertionError("unreachable")
