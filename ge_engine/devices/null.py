"""The null device: no arithmetic, but all the manners of a real accelerator.

It has memory of its own, so that every transfer is explicit. It is asynchronous until synchronize, and poisons the
outputs before it, so that a result read too early is seen. The gear is set for each run. It can take time by a model.
For tests and what-if; it is never a fallback.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping

from ops import Array, DeviceError

from ..buffer import Buffer
from ..gears import Gear
from ..stage import BuiltStage
from .base import Stream

Compute = Callable[[Mapping[str, Array], Mapping[str, Array]], None]
POISON = 0xA5


def checksums(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
    """Each output row is filled with a checksum of the same row of all inputs, so a mixed-up row shows."""
    for row in range(len(next(iter(inputs.values())))):
        sum32 = 0
        for array in inputs.values():
            sum32 = zlib.crc32(array[row].tobytes(), sum32)
        for array in outputs.values():
            array[row] = sum32 % 127


class NullStream:
    """A queue of runs that happen at synchronize."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._queue: list[Callable[[], None]] = []
        self._busy_until = 0.0

    def push(self, run: Callable[[], None], duration_s: float) -> None:
        self._busy_until = max(self._busy_until, time.perf_counter()) + duration_s
        self._queue.append(run)

    def synchronize(self) -> None:
        queue, self._queue = self._queue, []
        remaining = self._busy_until - time.perf_counter()
        if remaining > 0:
            time.sleep(remaining)
        for run in queue:
            run()


class NullDevice:
    """A device for tests and what-if.

    pads: run the gears' own sizes only, as an NPU does.
    time_us: the time that one run of a batch size takes.
    compute: fills the outputs of a run from its inputs; checksums by default.
    """

    name = "null"

    def __init__(
        self, *, pads: bool = True, time_us: Callable[[int], float] | None = None, compute: Compute = checksums
    ) -> None:
        self.pads = pads
        self.time_us = time_us
        self.compute = compute

    def stream(self, index: int) -> NullStream:
        return NullStream(index)

    def load(self, stage: BuiltStage, slots: int, rows: int) -> NullProgram:
        return NullProgram(self, stage, slots, rows)

    def close(self) -> None:
        return


class NullProgram:
    """A stage on the null device."""

    def __init__(self, device: NullDevice, stage: BuiltStage, slots: int, rows: int) -> None:
        self.device = device
        self.stage = stage
        full = [gear.with_batch(rows) for gear in stage.gears]
        graph = stage.graph
        self._host = {
            (slot, gear.dims): (Buffer(graph.inputs, gear), Buffer(graph.outputs, gear))
            for slot in range(slots)
            for gear in full
        }
        self._own = {
            (slot, gear.dims): (Buffer(graph.inputs, gear), Buffer(graph.outputs, gear))
            for slot in range(slots)
            for gear in full
        }

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        return self._host[slot, gear.dims][0]

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        return self._host[slot, gear.dims][1]

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        assert isinstance(stream, NullStream)
        if self.device.pads and gear not in self.stage.static:
            gears = ", ".join(map(str, self.stage.gears))
            raise DeviceError(f"{gear} is not a gear", fix=f"run one of {gears}")
        host_in, host_out = self._host[slot, gear.dims]
        own_in, own_out = self._own[slot, gear.dims]
        host_out.block[:] = POISON

        def run() -> None:
            inputs = {name: array[: gear.batch] for name, array in own_in.arrays.items()}
            outputs = {name: array[: gear.batch] for name, array in own_out.arrays.items()}
            for name, array in inputs.items():
                array[:] = host_in.arrays[name][: gear.batch]
            self.device.compute(inputs, outputs)
            for name, array in outputs.items():
                host_out.arrays[name][: gear.batch] = array

        stream.push(run, self.device.time_us(gear.batch) * 1e-6 if self.device.time_us else 0.0)

    def close(self) -> None:
        self._host.clear()
        self._own.clear()
