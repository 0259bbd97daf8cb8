"""Samples: whole inputs on which two models are compared: random ones, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ge_engine.openvino_runtime import Port
from ge_engine.samples import has_ids, id_bounds, random_batch
from ge_engine.stage import Tensors
from ops import Array, ModelError, WrongUse
from ops.near import near

from ..arrays import ALONE, arrays_in
from .answers import Runnable

Feeds = Mapping[str, Array]
BATCHES = (1, 3)  # of random inputs, where the batch varies


def feeds_for(model: Runnable, sizes: Mapping[str, int], data: Path | None) -> list[Feeds]:
    """Random inputs of one sample and of three, and those of a file. sizes: of the other dims that vary, by name.

    Errors: WrongUse for a dim that varies and has no size, or for a file that does not fit.
    """
    shapes = dict.fromkeys(tensors_of(model.inputs, sizes, batch) for batch in BATCHES)
    feeds: list[Feeds] = []
    for tensors in shapes:
        bounds = id_bounds(tensors, model) if has_ids(tensors) else {}
        feeds.append(random_batch(tensors, bounds, seed=len(feeds)))
    return feeds if data is None else [*feeds, given(data, model.inputs)]


def tensors_of(ports: Sequence[Port], sizes: Mapping[str, int], batch: int) -> Tensors:
    """Every input at one batch size. Errors: WrongUse for a dim whose size is not known."""
    return tuple((port.name, port.dtype, _shape(port, sizes, batch)) for port in ports)


def _shape(port: Port, sizes: Mapping[str, int], batch: int) -> tuple[int, ...]:
    if port.shape is None:
        raise ModelError(f"input '{port.name}' has no rank", fix="export the model with the shapes of its inputs")
    shape = []
    for axis, dim in enumerate(port.shape):
        names = (dim, f"{port.name}.{axis}") if isinstance(dim, str) and dim else (f"{port.name}.{axis}",)
        size = dim if isinstance(dim, int) else next((sizes[name] for name in names if name in sizes), None)
        if size is None and axis:
            raise WrongUse(f"dim {axis} of input '{port.name}' varies", fix=f"give it a size: --at {names[0]}=640")
        shape.append(batch if size is None else size)
    return tuple(shape)


def given(data: Path, ports: Sequence[Port]) -> Feeds:
    """The inputs of an .npz file, whole, with the batch. Errors: WrongUse where they do not fit."""
    names = [port.name for port in ports]
    arrays = arrays_in(data)
    if len(names) == 1 and ALONE in arrays:
        arrays = {names[0]: arrays[ALONE]}
    for name in arrays:
        if name not in names:
            raise WrongUse(f"{data} has '{name}', which is no input", fix=near(name, names))
    for port in ports:
        if port.name not in arrays:
            raise WrongUse(f"{data} has no array '{port.name}'", fix=f"it needs {', '.join(names)}")
        found = arrays[port.name]
        fits = port.shape is None or (
            found.ndim == len(port.shape)
            and all(not isinstance(want, int) or want == size for want, size in zip(port.shape, found.shape))
        )
        if found.dtype != port.dtype or not fits:
            wanted = ",".join("?" if dim is None else str(dim) for dim in port.shape or ())
            raise WrongUse(
                f"{data}: '{port.name}' is {found.dtype}{list(found.shape)}, the model wants {port.dtype}[{wanted}]",
                fix="give it whole, with the batch as the first axis",
            )
    return {name: np.ascontiguousarray(arrays[name]) for name in names}
