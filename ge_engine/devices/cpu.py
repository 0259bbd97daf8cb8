"""The CPU, through ONNX Runtime, on the host's own buffers: nothing is copied. OpenVINO runs TensorFlow graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ops import Array, DeviceError

from ..buffer import Buffer
from ..cores import usable_cores
from ..gears import Gear
from ..openvino_runtime import OpenVinoGraph
from ..runtime import OrtGraph
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
        self.streams = streams

    def stream(self, index: int) -> CpuStream:
        return CpuStream(index)

    def load(self, stage: BuiltStage, slots: int, rows: int) -> CpuProgram:
        return CpuProgram(stage, slots, rows, self.threads, self.streams)

    def close(self) -> None:
        return


class LoadedGraph(Protocol):
    """What a library makes of a file."""

    def bound(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Callable[[], None]: ...


class CpuProgram:
    """A stage on the CPU: one session for all batch sizes where that gives the same answer, else one for each gear."""

    def __init__(self, stage: BuiltStage, slots: int, rows: int, threads: int, streams: int = 1) -> None:
        def load(path: str) -> LoadedGraph:
            if stage.frozen:
                return OpenVinoGraph(stage.on_cpu(path), threads, streams)
            one_shape = rows == 1 or path not in stage.shared.values()
            return OrtGraph(stage.on_cpu(path), threads, one_shape)

        self.stage = stage
        self.rows = rows
        # By dims, where one graph serves every batch size of them; else by gear.
        paths: dict[Any, str] = dict(stage.shared)
        paths.update((gear, graph.path) for gear, graph in stage.static.items() if gear.dims not in stage.shared)
        graphs = {path: load(path) for path in set(paths.values())}
        self._graphs = {key: graphs[path] for key, path in paths.items()}
        self._buffers: dict[tuple[int, Any], tuple[Buffer, Buffer]] = {}
        self._bound: dict[tuple[int, int, Any], Callable[[], None]] = {}
        self._slots = slots

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        return self._pair(slot, gear)[0]

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        return self._pair(slot, gear)[1]

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        run = self._bound.get((slot, gear.batch, gear.dims)) or self._bind(slot, gear)
        run()

    def close(self) -> None:
        self._bound.clear()
        self._graphs.clear()
        self._buffers.clear()

    def _pair(self, slot: int, gear: Gear) -> tuple[Buffer, Buffer]:
        pair = self._buffers.get((slot, gear.dims))
        if pair is None:
            assert slot < self._slots, (slot, self._slots)
            full = gear.with_batch(self.rows)
            pair = (Buffer(self.stage.graph.inputs, full), Buffer(self.stage.graph.outputs, full))
            self._buffers[slot, gear.dims] = pair
        return pair

    def _bind(self, slot: int, gear: Gear) -> Callable[[], None]:
        graph = self._graphs.get(gear.dims if gear.dims in self.stage.shared else gear)
        if graph is None:
            raise DeviceError(
                f"there is no graph for {gear}", fix=f"use one of {', '.join(map(str, self.stage.gears))}"
            )
        rows = [{name: array[: gear.batch] for name, array in side.arrays.items()} for side in self._pair(slot, gear)]
        run = graph.bound(*rows)
        self._bound[slot, gear.batch, gear.dims] = run
        return run
