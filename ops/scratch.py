"""Scratch: memory for what an op makes on its way, kept by the thread for the next sample."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from .spec import Array

KEPT = 1 << 25  # bytes; what is larger is made anew and given back, so that one huge picture does not stay


class _Blocks(threading.local):
    def __init__(self) -> None:
        self.by_name: dict[str, Array] = {}


_blocks = _Blocks()


def scratch(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array with anything in it, until this thread asks for the name again. No result of an op may lie in it.

    >>> scratch("example", (2, 3), np.float64).shape
    (2, 3)
    """
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    if nbytes > KEPT:
        return np.empty(shape, dtype)
    block = _blocks.by_name.get(name)
    if block is None or block.nbytes < nbytes:
        block = _blocks.by_name[name] = np.empty(nbytes, np.uint8)
    array: Array = block[:nbytes].view(dtype).reshape(shape)
    return array
