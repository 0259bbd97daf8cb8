"""What a bench sends: golden requests, the user's own values, or made-up ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ops import Array, TensorSpec, Where, WrongUse
from ops.near import near

from ..declaration import Input
from ..parse import sample_from
from .verify import golden_files
from .verify_client import decode

Sample = Mapping[str, Array]

_MADE_UP = 8  # samples, each other than the rest
_NUMPY = {"BYTES": "bytes", "FP16": "float16", "FP32": "float32", "FP64": "float64"}  # others: numpy's in capitals


@dataclass(frozen=True)
class Port:
    """An input of a model; dims without the batch, -1 for a variable one."""

    name: str
    datatype: str
    dims: tuple[int, ...]

    @property
    def dtype(self) -> str:
        return _NUMPY.get(self.datatype, self.datatype.lower())

    def __str__(self) -> str:
        return f"{self.datatype}[{','.join(map(str, self.dims))}]"


def ports(metadata: Mapping[str, Any], batching: bool) -> list[Port]:
    """The inputs, as a server's metadata list them."""
    return [
        Port(row["name"], row["datatype"], tuple(int(dim) for dim in row["shape"][1 if batching else 0 :]))
        for row in metadata["inputs"]
    ]


def samples(
    inputs: Sequence[Port], words: Sequence[str] | None, golden: Path | None, model: str, batching: bool
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
        golden = json.loads(file.read_text(encoding="utf-8"))
        found[golden["model"]] = golden
    versions = {int(m[1]): name for name in found if (m := re.fullmatch(rf"{re.escape(model)}_v(\d+)", name))}
    name = model if model in found else versions[max(versions)] if versions else None
    if name is None:
        fix = near(model, found) if found else "export it with `gepipe export`"
        raise WrongUse(f"{directory} carries no golden requests for {model}", fix=fix)
    whole: list[Sample] = [
        {key: decode(value) for key, value in request["inputs"].items()} for request in found[name]["requests"]
    ]
    return [sample for request in whole for sample in _apart(request)] if batching else whole


def _apart(request: Sample) -> list[Sample]:
    """The samples of a batch."""
    rows = len(next(iter(request.values())))
    return [{key: array[row] for key, array in request.items()} for row in range(rows)]


def from_words(words: Sequence[str], inputs: Sequence[Port]) -> list[Sample]:
    """One sample: NAME=value or NAME=@file. Errors: WrongUse."""
    nowhere = Where("", 0)
    values = sample_from(words, [Input(port.name, _spec(port), nowhere) for port in inputs])
    return [{port.name: _array(values[port.name], port) for port in inputs}]


def _spec(port: Port) -> TensorSpec:
    if port.dtype == "bytes" and port.dims == (1,):
        return TensorSpec("bytes", ())
    return TensorSpec(port.dtype, tuple(dim if dim > 0 else f"dim{axis}" for axis, dim in enumerate(port.dims)))


def _array(value: Any, port: Port) -> Array:
    if isinstance(value, bytes):
        return np.array([value], object)
    array = np.asarray(value)
    if array.ndim != len(port.dims) or any(dim not in (-1, size) for dim, size in zip(port.dims, array.shape)):
        shape = ",".join(map(str, array.shape))
        raise WrongUse(f"input {port.name!r} is {port}, not [{shape}]", fix="give one sample, without the batch")
    return array


def made_up(inputs: Sequence[Port], seed: int = 0) -> list[Sample]:
    """Random numbers (integers: 0 and 1), and random letters for bytes.

    Errors: WrongUse for what cannot be made up.
    """
    random = np.random.default_rng(seed)
    return [{port.name: _random(port, random) for port in inputs} for _ in range(_MADE_UP)]


def _random(port: Port, random: np.random.Generator) -> Array:
    if min(port.dims, default=1) < 0:
        raise WrongUse(f"input {port.name!r} is {port}: its size is open", fix=f"add -i {port.name}=@FILE.npy")
    if port.dtype == "bytes":
        letters = random.integers(ord("a"), ord("z") + 1, (*port.dims, 16), dtype=np.uint8)
        array = np.empty(port.dims, object)
        for place in np.ndindex(*port.dims):
            array[place] = letters[place].tobytes()
        return array
    try:
        dtype = np.dtype(port.dtype)
    except TypeError as error:
        fix = "bench an ensemble that feeds it"
        raise WrongUse(f"input {port.name!r} is {port}, which numpy lacks", fix=fix) from error
    if dtype.kind == "f":
        return random.standard_normal(port.dims).astype(dtype)
    return random.integers(0, 2, port.dims).astype(dtype)


def requests(samples: Sequence[Sample], batch: int, batching: bool) -> list[dict[str, Array]]:
    """Samples as whole requests; they begin again where they do not fill the last one."""
    if not batching:
        return [dict(sample) for sample in samples]
    count = -(-len(samples) // batch) * batch
    turned = [samples[index % len(samples)] for index in range(count)]
    chosen = [turned[begin : begin + batch] for begin in range(0, count, batch)]
    return [{name: np.stack([sample[name] for sample in group]) for name in group[0]} for group in chosen]
