"""A sample from the words of a command line: NAME=value or NAME=@file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import Array, TensorSpec, WrongUse
from ops.near import near

from .declaration import Input


def sample_from(words: Sequence[str], inputs: Sequence[Input]) -> dict[str, Any]:
    """Bytes from text or a file; arrays from JSON text, a .json or a .npy file.

    Errors: WrongUse for a name that is unknown, missing or given twice, and for what cannot be read. What is read is
    checked by the Session.
    """
    specs = {value.name: value.spec for value in inputs}
    sample: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise WrongUse(f"-i {word}: no '='", fix="write -i NAME=value or -i NAME=@file")
        if name not in specs:
            raise WrongUse(f"there is no input {name!r}", fix=near(name, specs))
        if name in sample:
            raise WrongUse(f"input {name!r} is given twice", fix="give it once: a run takes one sample")
        try:
            sample[name] = _value(value, specs[name])
        except (OSError, ValueError, RecursionError) as error:
            raise WrongUse(f"-i {word[:200]}: {error}", fix=_form(specs[name])) from error
    missing = [name for name in specs if name not in sample]
    if missing:
        words_to_add = " ".join(f"-i {name}={'@FILE' if specs[name].rank == 0 else '[...]'}" for name in missing)
        raise WrongUse(f"no value for input {', '.join(map(repr, missing))}", fix=f"add {words_to_add}")
    return sample


def _form(spec: TensorSpec) -> str:
    if not spec.shape:
        return "give text, or @ and the name of a file"
    return f"give {spec} as JSON, or @ and the name of a .json or .npy file"


def _value(text: str, spec: TensorSpec) -> Any:
    if not text.startswith("@"):
        return os.fsencode(text) if not spec.shape else _array(json.loads(text), spec)
    with open(text[1:], "rb") as file:
        if not spec.shape:
            return file.read()
        if text.endswith(".npy"):
            return np.load(file, allow_pickle=False)
        return _array(json.load(file), spec)


def _array(value: Any, spec: TensorSpec) -> Array:
    """A JSON value as an array; a number that the dtype does not hold is refused, not bent."""
    plain = np.asarray(value)
    if spec.dtype == "bytes":
        if plain.dtype.kind != "U":
            raise ValueError(f"{json.dumps(value)[:60]} is not text")
        return np.array([item.encode() for item in plain.flat], object).reshape(plain.shape)
    if plain.dtype.kind not in "biuf":
        raise ValueError(f"{json.dumps(value)[:60]} is not an array of numbers")
    with np.errstate(all="ignore"):
        array: Array = plain.astype(spec.numpy)
    if spec.numpy.kind in "biu" and not np.array_equal(array, plain):
        wrong = plain[np.asarray(array != plain)].flat[0]
        raise ValueError(f"{wrong} is not a {spec.dtype}")
    return array
