"""Memory: pinned blocks of the host as arrays, and which parts of a block one batch moves."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from ops import Array, DeviceError, TensorSpec

from ...buffer import ALIGNMENT, tensor_nbytes
from ...gears import Gear
from .card import Card, Owned

H2D, D2H = 1, 2  # ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST
_CHEAPER = 1 << 18  # bytes that take less time than one more call

Spans = tuple[tuple[int, int], ...]


def pinned(card: Card, part: Owned, nbytes: int) -> Array:
    """A zeroed uint8 block that the card reads and writes by itself: what a host op writes there is not copied again.

    It is gone when the part is closed, also for arrays that are kept. Errors: DeviceError.
    """
    try:
        pointer: int = part.get("rt.malloc_host", nbytes + ALIGNMENT, undo="rt.free_host")
    except DeviceError as error:
        error.message += f" ({nbytes:,} bytes of pinned memory)"
        raise
    start = -pointer % ALIGNMENT
    memory = (ctypes.c_uint8 * (nbytes + ALIGNMENT)).from_address(pointer)
    block: Array = np.ctypeslib.as_array(memory)[start : start + nbytes]
    block.fill(0)
    return block


def spans(tensors: Sequence[tuple[str, TensorSpec]], gear: Gear, places: Mapping[str, int]) -> Spans:
    """The parts of a block that hold a gear's rows, as (offset, bytes).

    A gap that is cheaper to copy than to leave out is copied: several small tensors are one transfer.
    """
    parts = sorted((places[name], tensor_nbytes(spec, gear)) for name, spec in tensors)
    merged: list[tuple[int, int]] = []
    for offset, nbytes in parts:
        if merged and offset - sum(merged[-1]) <= _CHEAPER:
            begin = merged[-1][0]
            merged[-1] = (begin, offset + nbytes - begin)
        else:
            merged.append((offset, nbytes))
    return tuple(merged)
