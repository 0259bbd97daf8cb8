"""Axis names: what a variable axis is called, and what to call one that has no name that can be used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..dims import is_invented
from ..shapes import Shape
from .file_facts import Port

Sizes = Mapping[str, int]  # by the name of an axis, or its place

_BY_LAYOUT = {
    "NCHW": {1: "channels", 2: "height", 3: "width"},
    "NHWC": {1: "height", 2: "width", 3: "channels"},
    "HWC": {0: "height", 1: "width", 2: "channels"},
    "tokens": {1: "seq"},
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Whether npu_ge can read it in an expression."""
    return _NAME.fullmatch(text) is not None


def place(port: Port, axis: int) -> str:
    """How an axis is addressed that has no name: "x.2"."""
    return f"{port.name}.{axis}"


def is_batch(port: Port, axis: int) -> bool:
    """Whether an axis is the batch, if it varies."""
    return axis == 0 and port.layout != "HWC"


def proposed(port: Port, axis: int) -> str:
    """A name for an axis: its own where that can be used and says something, else what it probably is."""
    own = port.dims[axis] if port.dims else ""
    if isinstance(own, str) and is_name(own) and not is_invented(own):
        return own
    known = _BY_LAYOUT.get(port.layout, {})
    if axis in known:
        return known[axis]
    return "batch" if axis == 0 else re.sub(r"\W", "_", f"{port.name}_{axis}", flags=re.ASCII).lstrip("0123456789")


def shape_at(port: Port, batch: int, sizes: Sizes, free: Sequence[int] = ()) -> tuple[Shape, tuple[str, ...]]:
    """The shape of an input at a batch size and other sizes, and the names of the axes that have none.

    sizes: by the axis' own name, its proposed one, or its place. free: axes whose declared size need not hold.
    """
    shape: list[int | str | None] = []
    missing = []
    for axis, dim in enumerate(port.dims or ()):
        if isinstance(dim, int) and axis not in free:
            shape.append(dim)
            continue
        names = (place(port, axis), str(dim), proposed(port, axis))
        given = next((sizes[name] for name in names if name in sizes), None)
        if given is None and is_batch(port, axis):
            given = batch
        if given is None and isinstance(dim, int):
            given = dim
        if given is None:
            missing.append(dim if isinstance(dim, str) and dim else place(port, axis))
        shape.append(given if given is not None else (str(dim) or None))
    return tuple(shape), tuple(missing)
