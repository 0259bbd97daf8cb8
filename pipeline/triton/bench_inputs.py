"""What a bench sends: golden requests, the user's own values, or made-up ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ops import Array, TensorSpec, Where, WrongUse

from ..declaration import Input
from ..parse import sample_from
from .golden import golden_files, read_golden
from .tensor import Tensor
from .verify_client import decode

Sample = Mapping[str, Array]

_MADE_UP = 8  # samples, each other than the rest


def inputs_of(metadata: Mapping[str, Any], batching: bool) -> list[Tensor]:
    """The inputs, as a server's metadata list them."""
    return [
        Tensor(row["name"], row["datatype"], tuple(int(dim) for dim in row["shape"][1 if batching else 0 :]))
        for row in metadata["inputs"]
    ]


def samples(
    inputs: Sequence[Tensor], words: Sequence[str] | None, golden: Path | None, model: str, batching: bool
) -> list[Sample]:
    """The user's own, else those of a repository's golden requests, else made up. Errors: WrongUse."""
    if words and golden:
        raise WrongUse("-i and --golden are both given", fix="give one of them")
    if words:
        return from_words(words, inputs)
    return from_golden(golden, model, batching) if golden else made_up(inputs)


def from_golden(directory: Path, model: str, batching: bool) -> list[Sample]:
    """The samples of the golden requests that an export carries for a model: of its newest version, if it has some.

    Errors: WrongUse when there are none.
    """
    found = {}
    for file in golden_files(directory):
        golden = read_golden(file)
        found[golden["model"]] = golden
    versions = {int(m[1]): name for name in found if (m := re.fullmatch(rf"{re.escape(model)}_v(\d+)", name))}
    name = model if model in found else versions[max(versions)] if versions else None
    if name is None:
        others = f"; it has those of {', '.join(sorted(found))}" if found else ""
        fix = "name the folder of its export, or make one: gepipe export"
        raise WrongUse(f"{directory} carries no golden requests for {model}{others}", fix=fix)
    whole: list[Sample] = [
        {key: decode(value) for key, value in request["inputs"].items()} for request in found[name]["requests"]
    ]
    return [sample for request in whole for sample in _apart(request)] if batching else whole


def _apart(request: Sample) -> list[Sample]:
    """The samples of a batch."""
    rows = len(next(iter(request.values())))
    return [{key: array[row] for key, array in request.items()} for row in range(rows)]


def from_words(words: Sequence[str], inputs: Sequence[Tensor]) -> list[Sample]:
    """One sample: NAME=value or NAME=@file. Errors: WrongUse."""
    nowhere = Where("", 0)
    values = sample_from(words, [Input(tensor.name, _spec(tensor), nowhere) for tensor in inputs])
    return [{tensor.name: _array(values[tensor.name], tensor) for tensor in inputs}]


def _spec(tensor: Tensor) -> TensorSpec:
    if tensor.dtype == "bytes" and tensor.dims == (1,):
        return TensorSpec("bytes", ())
    return TensorSpec(tensor.dtype, tuple(dim if dim > 0 else f"dim{axis}" for axis, dim in enumerate(tensor.dims)))


def _array(value: Any, tensor: Tensor) -> Array:
    if isinstance(value, bytes):
        return np.array([value], object)
    array = np.asarray(value)
    if array.ndim != len(tensor.dims) or any(dim not in (-1, size) for dim, size in zip(tensor.dims, array.shape)):
        shape = ",".join(map(str, array.shape))
        raise WrongUse(f"input {tensor.name!r} is {tensor}, not [{shape}]", fix="give one sample, without the batch")
    return array


def made_up(inputs: Sequence[Tensor], seed: int = 0) -> list[Sample]:
    """Random numbers (integers: 0 and 1), and random letters for bytes.

    Errors: WrongUse for what cannot be made up.
    """
    random = np.random.default_rng(seed)
    return [{tensor.name: _random(tensor, random) for tensor in inputs} for _ in range(_MADE_UP)]


def _random(tensor: Tensor, random: np.random.Generator) -> Array:
    if min(tensor.dims, default=1) < 0:
        raise WrongUse(f"input {tensor.name!r} is {tensor}: its size is open", fix=f"add -i {tensor.name}=@FILE.npy")
    if tensor.dtype == "bytes":
        letters = random.integers(ord("a"), ord("z") + 1, (*tensor.dims, 16), dtype=np.uint8)
        array = np.empty(tensor.dims, object)
        for place in np.ndindex(*tensor.dims):
            array[place] = letters[place].tobytes()
        return array
    if tensor.dtype == "bfloat16":
        raise WrongUse(f"input {tensor.name!r} is {tensor}, which numpy lacks", fix="bench an ensemble that feeds it")
    if tensor.dtype.startswith("float"):
        return random.standard_normal(tensor.dims).astype(tensor.dtype)
    return random.integers(0, 2, tensor.dims).astype(tensor.dtype)


def requests(samples: Sequence[Sample], batch: int, batching: bool) -> list[dict[str, Array]]:
    """Samples as whole requests; they begin again where they do not fill the last one."""
    if not batching:
        return [dict(sample) for sample in samples]
    count = -(-len(samples) // batch) * batch
    turned = [samples[index % len(samples)] for index in range(count)]
    chosen = [turned[begin : begin + batch] for begin in range(0, count, batch)]
    return [{name: np.stack([sample[name] for sample in group]) for name in group[0]} for group in chosen]
