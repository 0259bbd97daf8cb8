"""Samples: what goes into the two sides: a folder of files, or random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ge_engine.samples import random_batch
from ge_engine.shapes import shape_of
from ge_engine.skeleton import Skeleton
from ops import Array, TensorSpec, WrongUse
from ops.spec import canonical_dtype

from ..arrays import inputs_in
from ..declaration import Input
from .sides import Feeds

_IDS = 3  # random ids stay below it: every table has as many rows


def files_of(data: Path, most: int) -> list[Path]:
    """The files of a folder by name, or the one file, at most so many. Errors: WrongUse where there are none."""
    if not data.exists():
        raise WrongUse(f"there is no {data}", fix="name a folder of samples, or one .npz")
    files = [data] if not data.is_dir() else sorted(path for path in data.iterdir() if path.is_file())
    if not files:
        raise WrongUse(f"{data} holds no files", fix="put samples into it: pictures, or .npz with the inputs by name")
    return files[:most]


def pipeline_samples(data: Path, inputs: Sequence[Input], most: int) -> list[dict[str, Any]]:
    """A sample a file: a .npz has the inputs by name (bytes as uint8); any other file is the one input of bytes.

    Errors: WrongUse for a file that is none of these.
    """
    return [_sample(path, inputs) for path in files_of(data, most)]


def _sample(path: Path, inputs: Sequence[Input]) -> dict[str, Any]:
    if path.suffix == ".npz":
        arrays = inputs_in(path, [value.name for value in inputs])
        return {value.name: _as_input(arrays[value.name], value.spec) for value in inputs}
    if len(inputs) != 1 or inputs[0].spec.shape:
        wanted = ", ".join(f"{value.name} {value.spec}" for value in inputs)
        raise WrongUse(
            f"{path} is one file, the inputs are {wanted}", fix="write each sample as a .npz with them by name"
        )
    return {inputs[0].name: path.read_bytes()}


def _as_input(array: Array, spec: TensorSpec) -> Any:
    return array.tobytes() if spec.dtype == "bytes" and not spec.shape else array


def model_feeds(data: Path, skeleton: Skeleton, most: int) -> tuple[Feeds, ...]:
    """A run a file: a .npz with the inputs by name, whole, with the batch; a .npy for a model of one input.

    Errors: WrongUse for what the model does not take.
    """
    return tuple(_feeds(path, skeleton) for path in files_of(data, most))


def _feeds(path: Path, skeleton: Skeleton) -> Feeds:
    values = skeleton.model.graph.input
    found = inputs_in(path, [value.name for value in values])
    arrays = {value.name: found[value.name] for value in values}
    for value in values:
        array, shape = arrays[value.name], shape_of(value)
        dtype = canonical_dtype(value.type.tensor_type.elem_type)
        fits = shape is None or (
            len(shape) == array.ndim and all(not isinstance(d, int) or d == n for d, n in zip(shape, array.shape))
        )
        if array.dtype.name != dtype or not fits:
            wanted = f"{dtype}{list(shape) if shape is not None else ''}"
            raise WrongUse(
                f"{path}: {value.name} is {array.dtype}{list(array.shape)}, the model takes {wanted}",
                fix="give the inputs as the model takes them, with the batch",
            )
    return arrays


def random_feeds(skeleton: Skeleton, count: int) -> tuple[Feeds, ...]:
    """So many runs of random numbers; a first axis that is open is 1.

    Errors: WrongUse for a model with other open dims.
    """
    tensors: list[tuple[str, str, tuple[int, ...]]] = []
    for value in skeleton.model.graph.input:
        declared = shape_of(value) or ()
        sizes = [1 if axis == 0 and not isinstance(dim, int) else dim for axis, dim in enumerate(declared)]
        whole = tuple(dim for dim in sizes if isinstance(dim, int))
        if len(whole) < len(declared):
            raise WrongUse(
                f"input {value.name} is of any size: {list(declared)}",
                fix="give samples: --data FILE.npz, with the inputs by name",
            )
        tensors.append((value.name, canonical_dtype(value.type.tensor_type.elem_type), whole))
    bounds: Mapping[str, int] = {name: _IDS for name, _, _ in tensors}
    return tuple(random_batch(tuple(tensors), bounds, seed=run) for run in range(count))
