"""Room: memory for tensors of one run, used again by the next; it grows to the largest need."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ops import Array

from ..buffer import aligned_zeros


class Room:
    """A block for each name; what `of` gives is a view, good until that name is asked for again."""

    def __init__(self) -> None:
        self._blocks: dict[str, Array] = {}

    def of(self, name: str, dtype: str, shape: Sequence[int]) -> Array:
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        block = self._blocks.get(name)
        if block is None or block.nbytes < nbytes:
            block = self._blocks[name] = aligned_zeros(nbytes)
        return block[:nbytes].view(dtype).reshape(shape)
