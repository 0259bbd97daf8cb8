"""Samples: random batches that a graph can run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ops import Array

from .stage import Tensors

_IDS = ("int32", "int64", "uint32", "uint64")  # may index a table of unknown length
_BOUNDS = (1000, 300, 100, 30, 10, 5, 3)  # tried from the first: an id beyond the table fails the run
_SMALL = (2, 1)  # for all at once, to start with

Batch = Mapping[str, Array]


def has_ids(tensors: Tensors) -> bool:
    """Whether a run may fail for the values that it is given."""
    return any(dtype in _IDS for _, dtype, _ in tensors)


def id_bounds(tensors: Tensors, run: Callable[[Batch], Any]) -> dict[str, int]:
    """For each input that may hold ids, a bound below which the graph takes them: as large as is found.

    Errors: what `run` raises, when it fails whatever the ids.
    """
    names = [name for name, dtype, _ in tensors if dtype in _IDS]

    def takes(bounds: Mapping[str, int]) -> Exception | None:
        try:
            run(random_batch(tensors, bounds))
        except Exception as error:  # ONNX Runtime has no family of exceptions
            return error
        return None

    for small in _SMALL:
        bounds = dict.fromkeys(names, small)
        fault = takes(bounds)
        if fault is None or not names:
            break
    if fault is not None:
        raise fault
    for name in names:
        larger = (bound for bound in _BOUNDS if takes({**bounds, name: bound}) is None)
        bounds[name] = next(larger, bounds[name])
    return bounds


def random_batch(tensors: Tensors, bounds: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """A batch of random samples."""
    random = np.random.default_rng(seed)
    return {name: fill(shape, np.dtype(dtype), random, bounds.get(name, 1)) for name, dtype, shape in tensors}


def fill(shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, bound: int) -> Array:
    """Values as a trained network meets them: floats of 0..1, whole bytes, ids below their bound."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        high = bound if dtype.name in _IDS else min(np.iinfo(dtype).max, 255) + 1
        return random.integers(0, high, shape).astype(dtype)
    return random.random(shape, np.float32).astype(dtype)
