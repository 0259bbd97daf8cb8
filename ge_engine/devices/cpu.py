"""The CPU, through ONNX Runtime, on the host's own buffers: nothing is copied."""

from __future__ import annotations

from typing import Any

from ops import DeviceError

from .. import runtime
from ..buffer import Buffer
from ..cores import usable_cores
from ..gears import Gear
from ..stage import BuiltStage
from .base import Stream, Watch


class CpuStream:
    """A graph runs on the thread that enqueues it, so there is nothing to wait for."""

    watch: Watch | None = None  # nothing is transferred
    shares = ()

    def __init__(self, index: int) -> None:
        self.index = index

    def synchronize(self) -> None:
        return


class CpuDevice:
    """ONNX Runtime on this machine's cores.

    threads: for each stream; by default the cores are divided among the streams.
    """

    name = "cpu"
    pads = False
    on_host = True
    cards = in_flight = 1

    def __init__(self, threads: int | None = None, streams: int = 1) -> None:
        self.threads = threads or max(1, usable_cores() // streams)

    def stream(self, index: int) -> CpuStream:
        return CpuStream(index)

    def load(self, stage: BuiltStage, slots: int, rows: int) -> CpuProgram:
        return CpuProgram(stage, slots, rows, self.threads)

    def close(self) -> None:
        return


class CpuProgram:
    """A stage on the CPU: one session for all batch sizes where that gives the same answer, else one for each gear."""

    def __init__(self, stage: BuiltStage, slots: int, rows: int, threads: int) -> None:
        self.stage = stage
        self.rows = rows
        # By dims, where one session serves every batch size of them; else by gear.
        paths: dict[Any, str] = dict(stage.shared)
        paths.update((gear, graph.path) for gear, graph in stage.static.items() if gear.dims not in stage.shared)
        self._sessions = {key: runtime.loaded(path, threads) for key, path in paths.items()}
        self._buffers: dict[tuple[int, Any], tuple[Buffer, Buffer]] = {}
        self._bindings: dict[tuple[int, int, Any], tuple[Any, Any]] = {}
        self._slots = slots

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        return self._pair(slot, gear)[0]

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        return self._pair(slot, gear)[1]

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        session, binding = self._bindings.get((slot, gear.batch, gear.dims)) or self._bind(slot, gear)
        runtime.run_bound(session, binding)

    def close(self) -> None:
        self._bindings.clear()
        self._sessions.clear()
        self._buffers.clear()

    def _pair(self, slot: int, gear: Gear) -> tuple[Buffer, Buffer]:
        pair = self._buffers.get((slot, gear.dims))
        if pair is None:
            assert slot < self._slots, (slot, self._slots)
            full = gear.with_batch(self.rows)
            pair = (Buffer(self.stage.graph.inputs, full), Buffer(self.stage.graph.outputs, full))
            self._buffers[slot, gear.dims] = pair
        return pair

    def _bind(self, slot: int, gear: Gear) -> tuple[Any, Any]:
        session = self._sessions.get(gear.dims if gear.dims in self.stage.shared else gear)
        if session is None:
            raise DeviceError(
                f"there is no graph for {gear}", fix=f"use one of {', '.join(map(str, self.stage.gears))}"
            )
        inputs, outputs = self._pair(slot, gear)
        binding = session.io_binding()
        # An input that no node of the folded graph reads is gone from the session.
        names = {value.name for value in session.get_inputs()}
        for name, array in inputs.arrays.items():
            if name in names:
                rows = (gear.batch, *array.shape[1:])
                binding.bind_input(name, "cpu", 0, array.dtype, rows, runtime.address(array))
        for name, array in outputs.arrays.items():
            rows = (gear.batch, *array.shape[1:])
            binding.bind_output(name, "cpu", 0, array.dtype, rows, runtime.address(array))
        self._bindings[slot, gear.batch, gear.dims] = (session, binding)
        return session, binding
