"""Group: samples in the rows of a slot's buffers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ge_engine.engine import Engine
from ops import Array

from .item import Item

Sizes = tuple[int, ...]  # for each engine of a level, the index of a sample's size


class Group:
    """Samples of one size in the rows of a slot's buffers.

    A sample has its row before it is written there, so several can be written at once. The row of one that failed is
    zeroed, since it may be padding next, and given to another.
    """

    __slots__ = ("_holes", "_items", "filled", "filling", "inputs", "outputs", "since", "sizes", "slot")

    def __init__(self, engines: tuple[Engine, ...], slot: int, sizes: Sizes) -> None:
        self.slot = slot
        self.sizes = sizes
        self.inputs = [engine.inputs(slot, size) for engine, size in zip(engines, sizes)]
        self.outputs = [engine.outputs(slot, size) for engine, size in zip(engines, sizes)]
        self.reset()

    def reset(self) -> None:
        """Whatever has been left in it."""
        self.filled = 0
        self.filling = 0
        self.since = 0.0  # when its first row was filled, where that is of interest
        self._items: list[Item | None] = []
        self._holes: list[int] = []

    def reserve(self) -> int:
        """A row for a sample that is about to be written."""
        self.filling += 1
        if self._holes:
            return self._holes.pop()
        self._items.append(None)
        return len(self._items) - 1

    def settle(self, row: int, item: Item | None) -> None:
        """The row holds the sample; or, where that failed, nothing."""
        self.filling -= 1
        if item is None:
            self.clear(row)
            self._holes.append(row)
        else:
            self.filled += 1
            self._items[row] = item

    def row(self, row: int) -> Mapping[str, Array]:
        """The inputs of a row. Where two engines take one value, the first one's."""
        if len(self.inputs) == 1:
            return self.inputs[0].rows[row]
        return {key: array for buffer in reversed(self.inputs) for key, array in buffer.rows[row].items()}

    def take(self) -> list[Item]:
        """The samples, which stand in the rows 0, 1, ... from now on; the group is empty."""
        assert not self.filling
        items, holes = self._items, self._holes
        self.reset()
        if not holes:
            return items  # type: ignore[return-value]  # all are there
        for hole in sorted(holes):
            while items and items[-1] is None:
                items.pop()
            if hole < len(items):
                last = items.pop()
                assert last is not None
                last.copied_in += self.write(hole, self.read(len(items)))
                items[hole] = last
        return [item for item in items if item is not None]

    def read(self, row: int) -> list[dict[str, Array]]:
        """The row of each input buffer."""
        return [buffer.rows[row] for buffer in self.inputs]

    def write(self, row: int, arrays: list[dict[str, Array]]) -> int:
        """Copy into the row of each input buffer; the bytes."""
        copied = 0
        for buffer, values in zip(self.inputs, arrays):
            for key, array in buffer.rows[row].items():
                np.copyto(array, values[key])
                copied += array.nbytes
        return copied

    def clear(self, row: int) -> None:
        for buffer in self.inputs:
            for array in buffer.rows[row].values():
                array.fill(0)


Seat = tuple[Group, int]
