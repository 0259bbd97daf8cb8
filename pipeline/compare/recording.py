"""Recording: the CPU device, and what goes into each stage."""

from __future__ import annotations

from ge_engine.devices import CpuDevice, Stream
from ge_engine.devices.cpu import CpuProgram
from ge_engine.gears import Gear
from ge_engine.stage import BuiltStage

from .sides import Feeds


class Recording(CpuDevice):
    """The CPU. runs: for each run, the stage, the gear, and a copy of the inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[tuple[str, Gear, Feeds]] = []

    def load(self, stage: BuiltStage, slots: int, rows: int) -> CpuProgram:
        return _Program(self, stage, slots, rows)


class _Program(CpuProgram):
    def __init__(self, device: Recording, stage: BuiltStage, slots: int, rows: int) -> None:
        super().__init__(stage, slots, rows, device.threads)
        self._runs = device.runs

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        arrays = self.inputs(slot, gear).arrays
        self._runs.append((self.stage.graph.name, gear, {key: a[: gear.batch].copy() for key, a in arrays.items()}))
        super().enqueue(slot, gear, stream)
