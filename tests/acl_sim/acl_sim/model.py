"""A model that is loaded: its numbers come from ONNX Runtime, its gear from the bytes of the gear input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .codes import AICORE_EXCEPTION, GEAR_INPUT, INPUT_NOT_MATCH, INVALID_PARAM, OUTPUT_NOT_MATCH, SUCCESS
from .memory import Access, Memory, reserved
from .om import Dims, Om
from .streams import Context
from .violation import Violation


@dataclass(eq=False)
class Model:
    """gear: the one that was set last; that is what get_cur_output_dims tells of."""

    handle: int
    om: Om
    context: Context
    session: Any
    hbm: int
    gear: int = -1

    @property
    def input_count(self) -> int:
        return len(self.om.inputs) + bool(self.om.gears)

    def input_size(self, index: int) -> int:
        if index == len(self.om.inputs):
            return 8 * self.gear_width
        return self._largest(self.om.inputs[index].shapes, self.om.inputs[index].dtype)

    def output_size(self, index: int) -> int:
        return self._largest(self.om.outputs[index].shapes, self.om.outputs[index].dtype)

    @property
    def gear_width(self) -> int:
        """How many numbers the gear input holds; for "dims" those that set_input_dynamic_dims takes."""
        if self.om.kind == "dims":
            return sum(len(port.shapes[0]) for port in self.om.inputs)
        return len(self.om.gears[0])

    def gear_values(self, gear: int) -> Dims:
        """What the gear input holds for a gear."""
        if self.om.kind == "dims":
            return tuple(dim for port in self.om.inputs for dim in port.shapes[gear])
        return self.om.gears[gear]

    def find_gear(self, values: Sequence[int]) -> int | None:
        gears = (gear for gear in range(len(self.om.gears)) if self.gear_values(gear) == tuple(values))
        return next(gears, None)

    def check(self, memory: Memory, kind: str, buffers: Sequence[tuple[int, int]]) -> tuple[int, list[Access]]:
        """The bytes that a dataset gives. Errors: Violation for what is no memory of the device, or lies too close."""
        inputs = kind == "input"
        sizes = (
            [self.input_size(i) for i in range(self.input_count)]
            if inputs
            else [self.output_size(i) for i in range(len(self.om.outputs))]
        )
        if len(buffers) != len(sizes):
            return (INPUT_NOT_MATCH if inputs else OUTPUT_NOT_MATCH), []
        accesses = []
        for index, ((address, size), needed) in enumerate(zip(buffers, sizes)):
            what = f"{kind} {index} of model {self.om.name}"
            if size < needed or address == 0:
                return INVALID_PARAM, []
            if not memory.is_device(address):
                raise Violation("S14", f"{what} is at {address:#x}, which is no device memory")
            access = memory.access(address, size, not inputs, what)
            if access.block.device != self.context.device:
                raise Violation(
                    "S15", f"{what} is in memory of device {access.block.device}; the model is on {self.context.device}"
                )
            if address % 64:
                raise Violation("S9", f"{what} is at {address:#x}, which is not aligned to 64 bytes")
            accesses.append(access)
        return SUCCESS, accesses

    def run(self, inputs: Sequence[Access], outputs: Sequence[Access]) -> int:
        """Now, on what the bytes are now."""
        gear = self.gear_of(inputs)
        if gear is None:
            return AICORE_EXCEPTION
        feeds = {}
        for port, access in zip(self.om.inputs, inputs):
            feeds[port.name] = self._read(access, port.shapes[gear], port.dtype, port.name)
        for access in outputs:
            access.poison()
        wanted = {value.name for value in self.session.get_inputs()}
        names = [port.name for port in self.om.outputs]
        try:
            results = self.session.run(names, {name: value for name, value in feeds.items() if name in wanted})
        except Exception:  # ONNX Runtime has no family of exceptions
            return AICORE_EXCEPTION
        for port, access, result in zip(self.om.outputs, outputs, results):
            data = np.ascontiguousarray(result)
            assert (data.shape, data.dtype.name) == (port.shapes[gear], port.dtype), (port, data.shape, data.dtype)
            access.bytes[: data.nbytes] = data.reshape(-1).view(np.uint8)
            access.touch()
        return SUCCESS

    def gear_of(self, inputs: Sequence[Access]) -> int | None:
        """Where nobody wrote the gear input, the largest gear."""
        if not self.om.gears:
            return 0
        access = inputs[len(self.om.inputs)]
        size = 8 * self.gear_width
        if not access.block.written[access.low : access.low + size].any():
            return self.om.largest
        return self.find_gear(access.bytes[:size].view(np.int64).tolist())

    def _read(self, access: Access, shape: Dims, dtype: str, name: str) -> Any:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if not access.block.written[access.low : access.low + size].all():
            raise Violation("S5", f"model {self.om.name} reads bytes of input {name} that nobody wrote")
        return access.bytes[:size].copy().view(dtype).reshape(shape)

    @staticmethod
    def _largest(shapes: Sequence[Dims], dtype: str) -> int:
        return max(math.prod(shape) for shape in shapes) * np.dtype(dtype).itemsize


@dataclass(eq=False)
class Desc:
    """model: None until get_desc filled it."""

    handle: int
    model: Model | None = None


@dataclass(eq=False)
class DataBuffer:
    """An address and a size."""

    handle: int
    address: int
    size: int


@dataclass(eq=False)
class Dataset:
    """Data buffers, in the order of a model's inputs or outputs."""

    handle: int
    buffers: list[DataBuffer] = field(default_factory=list)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [(buffer.address, buffer.size) for buffer in self.buffers]

    @property
    def handles(self) -> set[int]:
        return {self.handle, *(buffer.handle for buffer in self.buffers)}


def apart(accesses: Sequence[Access]) -> None:
    """Errors: Violation where pieces of one block are closer than CANN asks of those who divide a block themselves."""
    ordered = sorted(accesses, key=lambda access: (access.block.address, access.low))
    for one, other in pairwise(ordered):
        if one[:3] == other[:3] and not one.write and not other.write:
            continue  # one value that two inputs read
        if one.block is other.block and one.low + reserved(one.high - one.low) > other.low:
            raise Violation(
                "S9",
                f"two buffers of a run are at bytes {one.low} and {other.low} of {one.block}: a piece of "
                f"{one.high - one.low} bytes takes {reserved(one.high - one.low)}",
            )


def is_gear_input(model: Model, index: int) -> bool:
    return bool(model.om.gears) and index == len(model.om.inputs)


def input_name(model: Model, index: int) -> str:
    return GEAR_INPUT if is_gear_input(model, index) else model.om.inputs[index].name
