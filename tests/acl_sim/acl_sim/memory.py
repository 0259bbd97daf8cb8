"""Memory: device memory at addresses that nothing else can read, and pinned host memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .violation import Violation

Bytes = npt.NDArray[np.uint8]
POISON = 0xCB
FIRST, APART = 0x1240_0000_0000, 1 << 40  # device memory; each device has its own range, where no process has any


def reserved(size: int) -> int:
    """What an allocation takes of the memory."""
    return -(-size // 32) * 32 + 32


@dataclass(eq=False)
class Block:
    """One allocation. device: None for host memory. written: of each byte, whether anything was put there."""

    address: int
    size: int
    device: int | None
    data: Bytes
    written: npt.NDArray[Any]
    marks: list[tuple[int, int, bool, float]] = field(default_factory=list)  # who last used which bytes until when

    @property
    def end(self) -> int:
        return self.address + self.size

    def __str__(self) -> str:
        place = "pinned memory" if self.device is None else f"memory of device {self.device}"
        return f"{place} at {self.address:#x} of {self.size} bytes"


class Access(NamedTuple):
    """Bytes low to high of a block, read or written."""

    block: Block
    low: int
    high: int
    write: bool

    def conflicts(self, other: Access) -> bool:
        overlap = self.low < other.high and other.low < self.high
        return self.block is other.block and overlap and (self.write or other.write)

    @property
    def bytes(self) -> Bytes:
        return self.block.data[self.low : self.high]

    def poison(self) -> None:
        self.bytes[:] = POISON

    def touch(self) -> None:
        self.block.written[self.low : self.high] = True

    def ready(self) -> float:
        """When those that use these bytes in its way are done with them."""
        return max(
            (
                until
                for low, high, write, until in self.block.marks
                if low < self.high and self.low < high and (write or self.write)
            ),
            default=0.0,
        )

    def mark(self, until: float) -> None:
        self.block.marks[:] = [
            mark
            for mark in self.block.marks
            if not (self.low <= mark[0] and mark[1] <= self.high and (self.write or not mark[2]))
        ]
        self.block.marks.append((self.low, self.high, self.write, until))


class Memory:
    """All allocations, and where an address lies."""

    def __init__(self, budgets: list[int]) -> None:
        self.budgets = budgets
        self.used = [0] * len(budgets)
        self.blocks: dict[int, Block] = {}
        self._next = [FIRST + APART * device for device in range(len(budgets))]
        self._freed: list[Block] = []

    def allocate(self, device: int, size: int) -> Block | None:
        """None where it does not fit."""
        if not self.take(device, reserved(size)):
            return None
        address = self._next[device]
        self._next[device] += -(-reserved(size) // 64) * 64 + 4096  # what runs over the end hits nothing
        return self._add(Block(address, size, device, np.full(size, POISON, np.uint8), np.zeros(size, bool)))

    def allocate_host(self, size: int) -> Block:
        whole = np.full(size + 64, POISON, np.uint8)
        start = -whole.ctypes.data % 64
        data = whole[start : start + size]
        return self._add(Block(data.ctypes.data, size, None, data, np.ones(size, bool)))

    def take(self, device: int, size: int) -> bool:
        if self.used[device] + size > self.budgets[device]:
            return False
        self.used[device] += size
        return True

    def release(self, block: Block) -> None:
        del self.blocks[block.address]
        self._freed.append(block)
        if block.device is not None:
            self.used[block.device] -= reserved(block.size)
            block.data = block.written = np.empty(0, np.uint8)
        else:
            block.data[:] = POISON  # what still looks there sees poison, and does not end the process

    def find(self, address: int) -> Block | None:
        return next((block for block in self.blocks.values() if block.address <= address < block.end), None)

    def is_freed(self, address: int) -> bool:
        return any(block.address <= address < block.end for block in self._freed)

    def is_device(self, address: int) -> bool:
        return FIRST <= address < FIRST + APART * len(self.budgets)

    def access(self, address: int, size: int, write: bool, what: str) -> Access:
        """Bytes of an allocation. Errors: Violation (S5, S4) beyond its bounds, or where there is none."""
        block = self.find(address)
        if block is None and self.is_freed(address):
            raise Violation("S4", f"{what}: {address:#x} is in memory that was freed")
        if block is None:
            raise Violation("S5", f"{what}: {address:#x} is not in memory that is allocated")
        low = address - block.address
        if low + size > block.size:
            raise Violation("S5", f"{what}: bytes {low} to {low + size} of {block}")
        return Access(block, low, low + size, write)

    def _add(self, block: Block) -> Block:
        self.blocks[block.address] = block
        return block


def pageable(address: int, size: int) -> Bytes:
    """Host memory that is not pinned, as it is."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
