"""The CPU, through ONNX Runtime, on the host's own buffers: nothing is copied. OpenVINO runs TensorFlow graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ops import Array, DeviceError

from ..buffer import Buffer
from ..cores import usable_cores
from ..gears import Gear
from ..openvino_runtime import OpenVinoGraph
from ..runtime import OrtGraph
from ..stage import BuiltStage
from .base import Stream, Watch

_EXTRA_BYTES = 128 << 20  # of graphs and weights, that the sessions of the further streams may load


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
    """A stage on the CPU: one session for all batch sizes where that gives the same answer, else one for each gear.

    Each stream, as far as there are cores, has sessions of its own where the weights are light: runs at once that share
    one take the pieces of memory that the other core has just left, and need a fifth to a third more time.
    """

    def __init__(self, stage: BuiltStage, slots: int, rows: int, threads: int, streams: int = 1) -> None:
        self.stage = stage
        self.rows = rows
        # By dims, where one graph serves every batch size of them; else by gear.
        paths: dict[Any, str] = dict(stage.shared)
        paths.update((gear, graph.path) for gear, graph in stage.static.items() if gear.dims not in stage.shared)
        paths = {key: stage.on_cpu(path) for key, path in paths.items()}
        files = set(paths.values())

        def load() -> dict[Any, LoadedGraph]:
            graphs: dict[str, LoadedGraph] = {
                path: OpenVinoGraph(path, threads, streams) if stage.frozen else OrtGraph(path, threads)
                for path in files
            }
            return {key: graphs[path] for key, path in paths.items()}

        self._graphs = [load()]
        more = min(streams, usable_cores()) - 1
        if not stage.frozen and sum(map(_bytes_of, files)) * more <= _EXTRA_BYTES:
            self._graphs += [load() for _ in range(more)]  # OpenVINO knows streams itself
        self._buffers: dict[tuple[int, Any], tuple[Buffer, Buffer]] = {}
        self._bound: dict[tuple[int, int, Any, int], Callable[[], None]] = {}
        self._slots = slots

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        return self._pair(slot, gear)[0]

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        return self._pair(slot, gear)[1]

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        own = stream.index % len(self._graphs)
        run = self._bound.get((slot, gear.batch, gear.dims, own)) or self._bind(slot, gear, own)
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

    def _bind(self, slot: int, gear: Gear, own: int) -> Callable[[], None]:
        graph = self._graphs[own].get(gear.dims if gear.dims in self.stage.shared else gear)
        if graph is None:
            raise DeviceError(
                f"there is no graph for {gear}", fix=f"use one of {', '.join(map(str, self.stage.gears))}"
            )
        rows = [{name: array[: gear.batch] for name, array in side.arrays.items()} for side in self._pair(slot, gear)]
        run = graph.bound(*rows)
        self._bound[slot, gear.batch, gear.dims, own] = run
        return run


def _bytes_of(path: str) -> int:
    """What a session of a graph loads: its file, and the weights that lie beside it."""
    return sum(file.stat().st_size for file in (Path(path), *Path(path).parent.glob("*.weights")))
