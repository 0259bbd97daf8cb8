"""A sample from the words of a command line: NAME=value or NAME=@file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import DeclarationError, TensorSpec

from .graph import GraphInput
from .near import near


def sample_from(words: Sequence[str], inputs: Sequence[GraphInput]) -> dict[str, Any]:
    """Bytes from text or a file; arrays from JSON text, a .json or a .npy file.

    Errors: DeclarationError for what cannot be read; what is read is checked by the Session.
    """
    specs = {value.name: value.spec for value in inputs}
    sample: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise DeclarationError(f"-i {word}: no '='", fix="write -i NAME=value or -i NAME=@file")
        if name not in specs:
            raise DeclarationError(f"there is no input {name!r}", fix=near(name, specs))
        try:
            sample[name] = _value(value, specs[name])
        except (OSError, ValueError) as error:
            raise DeclarationError(f"-i {word}: {error}", fix=f"give {specs[name]}") from error
    return sample


def _value(text: str, spec: TensorSpec) -> Any:
    if not text.startswith("@"):
        return text.encode() if not spec.shape else _array(json.loads(text), spec)
    path = text[1:]
    with open(path, "rb") as file:
        if not spec.shape:
            return file.read()
        if path.endswith(".npy"):
            return np.load(file, allow_pickle=False)
        return _array(json.load(file), spec)


def _array(value: Any, spec: TensorSpec) -> Any:
    return np.asarray(value, spec.numpy)
