"""The null device: no arithmetic, but all the manners of a real accelerator.

It has memory of its own, so that every transfer is explicit. It is asynchronous until synchronize, and poisons the
outputs before it, so that a result read too early is seen. The gear is set for each run. It can take time by a model.
For tests and what-if; it is never a fallback.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ops import Array, DeviceError

from ..buffer import Buffer
from ..gears import Gear
from ..stage import BuiltStage
from .base import Stream, Watch

Compute = Callable[[Mapping[str, Array], Mapping[str, Array]], None]
Done = Callable[[str], None]
POISON = 0xA5


def checksums(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
    """Each output row is filled with a checksum of the same row of all inputs, so a mixed-up row shows."""
    for row in range(len(next(iter(inputs.values())))):
        sum32 = 0
        for array in inputs.values():
            sum32 = zlib.crc32(array[row].tobytes(), sum32)
        for array in outputs.values():
            array[row] = sum32 % 127


class Clock:
    """When all that was given to it is done: one thing after the other."""

    def __init__(self) -> None:
        self._busy_until = 0.0
        self._lock = threading.Lock()

    def add(self, duration_s: float) -> float:
        """When something that takes so long will be done, if it is given now."""
        with self._lock:
            self._busy_until = max(self._busy_until, time.perf_counter()) + duration_s
            return self._busy_until


class NullStream:
    """A queue of runs that happen at synchronize. Streams of one clock compute one after the other."""

    def __init__(self, index: int, clock: Clock) -> None:
        self.index = index
        self.shares = (id(clock),)
        self.watch: Watch | None = None
        self._queue: list[Callable[[Done | None], None]] = []
        self._clock = clock
        self._done_at = 0.0

    def push(self, run: Callable[[Done | None], None], duration_s: float) -> None:
        self._done_at = self._clock.add(duration_s)
        self._queue.append(run)

    def synchronize(self) -> None:
        queue, self._queue = self._queue, []
        remaining = self._done_at - time.perf_counter()
        if remaining > 0:
            time.sleep(remaining)
        done = None if self.watch is None else self._done
        self._since = time.perf_counter() if done else 0.0
        for run in queue:
            run(done)

    def _done(self, what: str) -> None:
        if self.watch is not None:
            begin, self._since = self._since, time.perf_counter()
            self.watch(what, begin, self._since)


class NullDevice:
    """A device for tests and what-if.

    pads: run the gears' own sizes only, as an NPU does.
    time_us: the time that one run of a batch size takes.
    compute: fills the outputs of a run from its inputs; checksums by default.
    in_flight: 2 takes a batch for each stream while it runs another, as an NPU does.
    """

    name = "null"
    on_host = False
    cards = 1

    def __init__(
        self,
        *,
        pads: bool = True,
        time_us: Callable[[int], float] | None = None,
        compute: Compute = checksums,
        in_flight: int = 1,
    ) -> None:
        self.pads = pads
        self.in_flight = in_flight
        self._clocks: dict[int, Clock] = {}
        self.time_us = time_us
        self.compute = compute

    def stream(self, index: int) -> NullStream:
        return NullStream(index, self._clocks.setdefault(index // self.in_flight, Clock()))

    def load(self, stage: BuiltStage, slots: int, rows: int) -> NullProgram:
        return NullProgram(self, stage, slots, rows)

    def close(self) -> None:
        return


class Memory(NamedTuple):
    """The buffers of a slot, on both sides."""

    host_in: Buffer
    host_out: Buffer
    own_in: Buffer
    own_out: Buffer


class NullProgram:
    """A stage on the null device."""

    def __init__(self, device: NullDevice, stage: BuiltStage, slots: int, rows: int) -> None:
        self.device = device
        self.stage = stage
        self._slots = slots
        self._rows = rows
        self._memory: dict[tuple[int, object], Memory] = {}

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        return self._of(slot, gear).host_in

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        return self._of(slot, gear).host_out

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        assert isinstance(stream, NullStream)
        if self.device.pads and gear not in self.stage.static:
            gears = ", ".join(map(str, self.stage.gears))
            raise DeviceError(f"{gear} is not a gear", fix=f"run one of {gears}")
        host_in, host_out, own_in, own_out = self._of(slot, gear)
        host_out.block[:] = POISON

        def run(done: Done | None) -> None:
            inputs = {name: array[: gear.batch] for name, array in own_in.arrays.items()}
            outputs = {name: array[: gear.batch] for name, array in own_out.arrays.items()}
            for name, array in inputs.items():
                array[:] = host_in.arrays[name][: gear.batch]
            if done is not None:
                done("transfer in")
            self.device.compute(inputs, outputs)
            if done is not None:
                done("compute")
            for name, array in outputs.items():
                host_out.arrays[name][: gear.batch] = array
            if done is not None:
                done("transfer out")

        stream.push(run, self.device.time_us(gear.batch) * 1e-6 if self.device.time_us else 0.0)

    def close(self) -> None:
        self._memory.clear()

    def _of(self, slot: int, gear: Gear) -> Memory:
        memory = self._memory.get((slot, gear.dims))
        if memory is None:
            assert slot < self._slots, (slot, self._slots)
            full, graph = gear.with_batch(self._rows), self.stage.graph
            memory = Memory(*(Buffer(side, full) for side in (graph.inputs, graph.outputs) * 2))
            self._memory[slot, gear.dims] = memory
        return memory
