"""A sample, checked against the pipeline's inputs before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ops import Graded, SampleError, TensorSpec
from ops.article import kind
from ops.host_stage import fits
from ops.near import near
from ops.spec import Dim

from .declaration import Input


class SampleCheck:
    """Whether a mapping is a sample: its names, and each value's dtype (exact), rank and dims.

    contiguous: the inputs that ops read, which want their arrays in one piece.
    """

    def __init__(self, inputs: tuple[Input, ...], contiguous: frozenset[str]) -> None:
        self._inputs = tuple(
            (
                value,
                value.name,
                value.spec.numpy if value.spec.shape else None,
                value.spec.shape if all(isinstance(dim, int) for dim in value.spec.shape) else None,
                value.name in contiguous,
            )
            for value in inputs
        )
        self._names = [value.name for value in inputs]
        self._name_set = set(self._names)

    def values(self, sample: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        """The sample's values, in the form that ops take, and the bytes that had to be copied for it.

        Errors: SampleError naming the input, with both specs.
        """
        if not isinstance(sample, (dict, Mapping)):  # of a Mapping Python asks in a long way
            raise SampleError(f"a sample is {kind(sample)}", fix="give a mapping of input names to values")
        try:
            if sample.keys() != self._name_set:
                raise self._wrong_names(sample)
            return self._checked({name: sample[name] for name in self._names})
        except SampleError:
            raise
        except Exception as error:  # the mapping is the caller's own code
            raise SampleError(
                f"the sample cannot be read: {type(error).__name__}: {error}", fix="give a dict of names to values"
            ) from error

    def _checked(self, values: dict[str, Any]) -> tuple[dict[str, Any], int]:
        sizes: dict[Dim, int] = {}
        copied = 0
        for declared, name, dtype, shape, contiguous in self._inputs:
            value = values[name]
            if dtype is None:
                values[name] = value if isinstance(value, bytes) else _bytes(declared, value)
                continue
            if not isinstance(value, np.ndarray) or value.dtype != dtype:
                raise _mismatch(declared, value)
            if value.shape != shape and (shape is not None or not _fits(value, declared.spec, sizes)):
                raise _mismatch(declared, value)
            if contiguous and not value.flags.c_contiguous:
                values[name] = np.ascontiguousarray(value)
                copied += value.nbytes
        return values, copied

    def _wrong_names(self, sample: Mapping[str, Any]) -> SampleError:
        for name in sample:
            if name not in self._names:
                return SampleError(f"there is no input {name!r}", fix=near(str(name), self._names))
        missing = [name for name in self._names if name not in sample]
        return SampleError(
            f"no value for input {', '.join(map(repr, missing))}", fix=f"a sample has {', '.join(self._names)}"
        )


def _place(declared: Input) -> str:
    return f"input '{declared.name}' ({declared.where})"


def _bytes(declared: Input, value: Any) -> bytes:
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, str):
        raise SampleError(
            f"{kind(value)}, wanted bytes",
            fix="give the file's bytes, or a str for text",
            where=_place(declared),
        )
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise SampleError(
            f"the text has no UTF-8 form: {error.reason} at character {error.start}",
            fix="give text without lone surrogates",
            where=_place(declared),
        ) from error


def _fits(value: Any, spec: TensorSpec, sizes: dict[Dim, int]) -> bool:
    """Whether a shape is as declared, and a named or graded dim has one size in all inputs of the sample."""
    if not fits(value.shape, spec):
        return False
    pairs = zip(value.shape, spec.shape)
    return all(sizes.setdefault(dim, size) == size for size, dim in pairs if isinstance(dim, (str, Graded)))


def _mismatch(declared: Input, value: Any) -> SampleError:
    spec, where = declared.spec, _place(declared)
    if not isinstance(value, np.ndarray):
        return SampleError(f"{kind(value)}, wanted {spec}", fix=f"give a numpy array of {spec.dtype}", where=where)
    got = f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if value.dtype != spec.numpy:
        fix = f"convert it: .astype(np.{spec.dtype})"
    elif value.shape[1:] and value.shape[0] == 1 and value.ndim == spec.rank + 1:
        fix = "a sample has no batch axis; give value[0]"
    else:
        fix = f"give the shape [{','.join(str(dim) for dim in spec.shape)}]; a named dim has one size in all inputs"
    return SampleError(f"{got}, wanted {spec}", fix=fix, where=where)
