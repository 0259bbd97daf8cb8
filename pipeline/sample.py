"""A sample, checked against the pipeline's inputs before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ops import SampleError, TensorSpec
from ops.host_stage import fits

from .graph import GraphInput
from .near import near


class SampleCheck:
    """Whether a mapping is a sample: its names, and each value's dtype (exact), rank and dims."""

    def __init__(self, inputs: tuple[GraphInput, ...]) -> None:
        self._inputs = tuple(
            (value.name, value.spec, value.spec.numpy, all(isinstance(dim, int) for dim in value.spec.shape))
            for value in inputs
        )
        self._names = [value.name for value in inputs]

    def values(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """The sample's values, in the form that ops take.

        Errors: SampleError naming the input, with both specs.
        """
        if not isinstance(sample, Mapping):
            raise SampleError(f"a sample is a {type(sample).__name__}", fix="give a mapping of input names to values")
        if len(sample) != len(self._names):
            self._refuse_names(sample)
        values: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for name, spec, dtype, fixed in self._inputs:
            try:
                value = sample[name]
            except KeyError:
                self._refuse_names(sample)
                raise
            if not spec.shape:
                values[name] = _bytes(name, value)
                continue
            if not isinstance(value, np.ndarray) or value.dtype != dtype:
                raise _mismatch(name, spec, value)
            if value.shape != spec.shape if fixed else not (fits(value.shape, spec) and _agree(value, spec, sizes)):
                raise _mismatch(name, spec, value)
            values[name] = value if value.flags.c_contiguous else np.ascontiguousarray(value)
        return values

    def _refuse_names(self, sample: Mapping[str, Any]) -> None:
        for name in sample:
            if name not in self._names:
                raise SampleError(f"there is no input {name!r}", fix=near(str(name), self._names))
        missing = [name for name in self._names if name not in sample]
        raise SampleError(
            f"no value for input {', '.join(map(repr, missing))}", fix=f"a sample has {', '.join(self._names)}"
        )


def _bytes(name: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise SampleError(
        f"input '{name}': a {type(value).__name__}, wanted bytes", fix="give the file's bytes, or a str for text"
    )


def _agree(value: Any, spec: TensorSpec, sizes: dict[str, int]) -> bool:
    """Whether a named dim has one size in all inputs of the sample."""
    pairs = zip(value.shape, spec.shape)
    return all(sizes.setdefault(dim, size) == size for size, dim in pairs if isinstance(dim, str))


def _mismatch(name: str, spec: TensorSpec, value: Any) -> SampleError:
    if not isinstance(value, np.ndarray):
        return SampleError(
            f"input '{name}': a {type(value).__name__}, wanted {spec}", fix=f"give a numpy array of {spec.dtype}"
        )
    got = f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if value.dtype != spec.numpy:
        fix = f"convert it: .astype(np.{spec.dtype})"
    elif value.shape[1:] and value.shape[0] == 1 and value.ndim == spec.rank + 1:
        fix = "a sample has no batch axis; give value[0]"
    else:
        fix = f"give the shape [{','.join(str(dim) for dim in spec.shape)}]; a named dim has one size in all inputs"
    return SampleError(f"input '{name}': {got}, wanted {spec}", fix=fix)
