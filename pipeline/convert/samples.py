"""Samples: whole inputs on which two models are compared: random ones, and the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from ge_engine.inspect.axis_names import place, proposed
from ge_engine.inspect.file_facts import Port as Described
from ge_engine.inspect.layout import layout_of
from ge_engine.openvino_runtime import Port
from ge_engine.samples import has_ids, id_bounds, random_batch
from ge_engine.stage import Tensors
from ops import DeviceError, ModelError, WrongUse
from ops.near import near

from ..arrays import inputs_in
from ..axis_sizes import at_text, unsized
from .answers import Feeds, Runnable

BATCHES = (1, 3)  # of random inputs, where the batch varies
TRACED = 2  # the batch with which PyTorch's exporter runs a model
Sizes = Mapping[str, int]  # by the name of an axis, or its place, as "x.2"
_NO_NAME = re.compile(r"unk__\d+")  # what tf2onnx writes for an axis that has none


@dataclass(frozen=True)
class Point:
    """Inputs, and the sizes that their axes have beside the batch, where these are known."""

    label: str
    feeds: Feeds
    sizes: Sizes = field(default_factory=dict)

    @property
    def shapes(self) -> str:
        """In a message."""
        return ", ".join(f"{name} {list(array.shape)}" for name, array in self.feeds.items())


class Sampler:
    """Random inputs such as a model takes.

    sizes: of the axes that vary beside the batch. ids: between which two the whole numbers of an example are.
    Errors: WrongUse for an axis that varies and has no size; DeviceError where the model runs on none.
    """

    def __init__(self, model: Runnable, sizes: Sizes, ids: Mapping[str, Sequence[int]] | None = None) -> None:
        self._ports, self._sizes = model.inputs, sizes
        self._made = 0
        # An example of one number, as zeros, says less than a try, unless nothing else does.
        several = {name: (least, most) for name, (least, most) in (ids or {}).items() if least < most}
        for batch, self._ids in ((BATCHES[0], several), (TRACED, several), (BATCHES[0], ids or {})):
            tensors = tensors_of(self._ports, sizes, batch)
            try:
                self._bounds = id_bounds(tensors, lambda feeds: model(self._fit(feeds))) if has_ids(tensors) else {}
                return
            except DeviceError as error:
                fault = error
        raise fault

    def points(self) -> list[Point]:
        """One sample, and three where the batch varies."""
        batches = BATCHES if batch_axis(self._ports, self._sizes) else BATCHES[:1]
        return [self.point(self._sizes, batch) for batch in batches]

    def point(self, sizes: Sizes, batch: int = BATCHES[0]) -> Point:
        """Inputs of these sizes. Errors: WrongUse for an axis that varies and has no size."""
        tensors = tensors_of(self._ports, sizes, batch)
        feeds = self._fit(random_batch(tensors, self._bounds, seed=self._made))
        self._made += 1
        rows = f", batch {batch}" if batch_axis(self._ports, sizes) else ""
        others = f", {at_text(sizes)}" if sizes != self._sizes else ""
        return Point(f"random{rows}{others}", feeds, sizes)

    def _fit(self, feeds: Feeds) -> Feeds:
        """The same, with whole numbers as those of the example."""
        random, found = np.random.default_rng(self._made), dict(feeds)
        for name, (least, most) in self._ids.items():
            found[name] = random.integers(least, most, feeds[name].shape, endpoint=True).astype(feeds[name].dtype)
        return found


def place_of(name: str, ports: Sequence[Port]) -> tuple[str, int]:
    """Where an axis of that name is: the first input that has it, and which one of it."""
    return next((port.name, axis) for port in ports for axis in _open(port) if name in _names(port, axis))


def batch_axis(ports: Sequence[Port], sizes: Sizes) -> str:
    """The name of a first axis that varies; "" where none does, or it has a size."""
    names = (_names(port, 0) for port in ports if 0 in _open(port))
    return next((one[0] for one in names if not set(one) & set(sizes)), "")


def _open(port: Port) -> list[int]:
    """The axes that vary."""
    return [axis for axis, dim in enumerate(port.shape or ()) if not isinstance(dim, int)]


def by_name(ports: Sequence[Port], settings: Sequence[Sizes]) -> tuple[Sizes, ...]:
    """The sizes by the names of their axes, as far as these have names; their places else.

    Errors: WrongUse for the size of an axis that is not there, or does not vary.
    """
    names = {name: _names(port, axis)[0] for port in ports for axis in _open(port) for name in _names(port, axis)}
    for name in (name for sizes in settings for name in sizes):
        if name not in names:
            raise WrongUse(f"no axis of an input that varies is called {name!r}", fix=near(name, names))
    return tuple({names[name]: size for name, size in sizes.items()} for sizes in settings)


def tensors_of(ports: Sequence[Port], sizes: Sizes, batch: int) -> Tensors:
    """Every input at one batch size. Errors: WrongUse with all the axes whose sizes are not known."""
    missing: list[str] = []
    tensors = tuple((port.name, port.dtype, _shape(port, sizes, batch, missing)) for port in ports)
    if missing:
        raise unsized(missing)
    return tensors


def _shape(port: Port, sizes: Sizes, batch: int, missing: list[str]) -> tuple[int, ...]:
    if port.shape is None:
        raise ModelError(f"input '{port.name}' has no rank", fix="export the model with the shapes of its inputs")
    shape = []
    for axis, dim in enumerate(port.shape):
        names = _names(port, axis)
        size = dim if isinstance(dim, int) else next((sizes[name] for name in names if name in sizes), None)
        if size is None and axis:
            missing.append(names[0])
        shape.append(batch if size is None else size)
    return tuple(shape)


def _names(port: Port, axis: int) -> tuple[str, ...]:
    """What an axis may be called, as inspect has it: its name, if it has one, its place, and what it seems to be."""
    assert port.shape is not None
    dims = tuple("" if dim is None or _NO_NAME.fullmatch(str(dim)) else dim for dim in port.shape)
    seen = Described(port.name, port.dtype, dims, layout_of(port.name, port.dtype, dims, onnx.GraphProto()))
    named = (str(dims[axis]),) if dims[axis] else ()
    return (*named, place(seen, axis), proposed(seen, axis))


def given(data: Path, ports: Sequence[Port]) -> Feeds:
    """The inputs of an .npz file, whole, with the batch. Errors: WrongUse where they do not fit."""
    names = [port.name for port in ports]
    arrays = inputs_in(data, names)
    for name in arrays:
        if name not in names:
            fix = f"leave it out of the file: the inputs are {', '.join(names)}"
            raise WrongUse(f"{data} has '{name}', which is no input", fix=fix)
    for port in ports:
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
