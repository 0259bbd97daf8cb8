"""Axes: what those are called that vary, where they are, and the shapes of the inputs at given sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import onnx

from ge_engine.inspect.axis_names import place, proposed
from ge_engine.inspect.file_facts import Port as Described
from ge_engine.inspect.layout import layout_of
from ge_engine.openvino_runtime import Port
from ge_engine.stage import Tensors
from ops import ModelError, WrongUse
from ops.near import near

from ..axis_sizes import unsized

Sizes = Mapping[str, int]  # by the name of an axis, or its place, as "x.2"
_NO_NAME = re.compile(r"unk__\d+")  # what tf2onnx writes for an axis that has none


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
