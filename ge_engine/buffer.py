"""Buffer: one block of memory that holds all tensors of one side of a stage, allocated once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ops import Array, DeviceError, TensorSpec

from .gears import Gear

ALIGNMENT = 64  # bytes; pyACL's malloc and the vector units both want it

Allocate = Callable[[int], Array]


def aligned_zeros(nbytes: int) -> Array:
    """A zeroed uint8 block whose address is a multiple of ALIGNMENT.

    Errors: DeviceError where there is not so much memory.
    """
    try:
        block = np.zeros(nbytes + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:  # ValueError: more than numpy can count
        raise DeviceError(
            f"there is no memory for a buffer of {nbytes:,} bytes", fix="use smaller gears, or fewer streams"
        ) from error
    offset = -block.ctypes.data % ALIGNMENT
    return block[offset : offset + nbytes]


class Buffer:
    """Named tensors of `rows` samples each, carved from one block; a request is a view of the first rows.

    arrays[name]  dtype[rows, ...]
    rows[i][name] the view that holds sample i
    Rows that no request has written yet are zero.
    """

    def __init__(
        self, tensors: Sequence[tuple[str, TensorSpec]], gear: Gear, allocate: Allocate = aligned_zeros
    ) -> None:
        layout = [(name, spec.numpy, gear.shape(spec)) for name, spec in tensors]
        sizes = [math.prod(shape) * dtype.itemsize for _, dtype, shape in layout]
        self.block = allocate(sum(_round_up(size) for size in sizes))
        self.arrays: dict[str, Array] = {}
        offset = 0
        for (name, dtype, shape), size in zip(layout, sizes):
            self.arrays[name] = self.block[offset : offset + size].view(dtype).reshape(shape)
            offset += _round_up(size)
        self.rows = tuple({name: array[row] for name, array in self.arrays.items()} for row in range(gear.batch))

    @property
    def nbytes(self) -> int:
        return self.block.nbytes


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
