"""Buffer: one block of memory that holds all tensors of one side of a stage, allocated once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

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

    places: where in the block each tensor begins; of this gear alone by default.
    """

    def __init__(
        self,
        tensors: Sequence[tuple[str, TensorSpec]],
        gear: Gear,
        allocate: Allocate = aligned_zeros,
        places: Mapping[str, int] | None = None,
    ) -> None:
        self.places = places or place(tensors, (gear,))
        self.block = allocate(extent(tensors, (gear,), self.places))
        self.arrays: dict[str, Array] = {}
        for name, spec in tensors:
            offset = self.places[name]
            self.arrays[name] = (
                self.block[offset : offset + tensor_nbytes(spec, gear)].view(spec.numpy).reshape(gear.shape(spec))
            )
        self.rows = tuple({name: array[row] for name, array in self.arrays.items()} for row in range(gear.batch))

    @property
    def nbytes(self) -> int:
        return self.block.nbytes


_NO_MORE: Mapping[str, int] = MappingProxyType({})


def place(
    tensors: Sequence[tuple[str, TensorSpec]], gears: Iterable[Gear], least: Mapping[str, int] = _NO_MORE
) -> dict[str, int]:
    """Where each tensor begins in a block that serves any of these gears.

    The largest comes last: so the first rows of all of them lie close together, and one transfer takes them all.
    least: the bytes of those that take more than what is in them.
    """
    grades = tuple(gears)
    sizes = {name: max(least.get(name, 0), *(tensor_nbytes(spec, gear) for gear in grades)) for name, spec in tensors}
    places, offset = {}, 0
    for name in sorted(sizes, key=sizes.__getitem__):
        places[name] = offset
        offset += room(sizes[name])
    return places


def extent(
    tensors: Sequence[tuple[str, TensorSpec]],
    gears: Sequence[Gear],
    places: Mapping[str, int],
    least: Mapping[str, int] = _NO_MORE,
) -> int:
    """The bytes of a block with its tensors at these places, for the largest of these gears."""
    ends = (
        places[name] + room(max(least.get(name, 0), tensor_nbytes(spec, gear)))
        for name, spec in tensors
        for gear in gears
    )
    return max(ends, default=0)


def room(nbytes: int) -> int:
    """What a tensor takes in a block: a card may read 32 bytes beyond a multiple of 32."""
    return _round_up(_round_up(nbytes, 32) + 32, ALIGNMENT)


def tensor_nbytes(spec: TensorSpec, gear: Gear) -> int:
    """The bytes of a tensor in a gear."""
    return math.prod(gear.shape(spec)) * spec.numpy.itemsize


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step
