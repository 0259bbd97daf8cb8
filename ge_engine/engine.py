"""Engine: one built stage on a device. It picks the gear, and says where a failure was."""

from __future__ import annotations

import time

from ops import DeviceError

from .buffer import Buffer
from .build import BuiltStage
from .devices.base import Device, Stream
from .gears import Gear


class Engine:
    """A stage loaded with `slots` sets of buffers.

    batches: the batch sizes that runs are split into (a device that does not pad runs any size up to the largest).
    """

    def __init__(self, stage: BuiltStage, device: Device, slots: int, largest: int) -> None:
        self.stage = stage
        self.device = device
        # Without a graph for any batch size, a batch has to fit a gear on every device.
        self.pads = device.pads or not stage.shared
        mixes = stage.mixing_node is not None
        sizes = bool(stage.gears.sizes)
        self.rows = 1 if mixes or (sizes and self.pads) else largest if sizes else stage.gears.largest
        self.batches = tuple(batch for batch in stage.gears.batches if batch <= self.rows) or (1,)
        self._program = device.load(stage, slots, self.rows)

    def inputs(self, slot: int, dims: tuple[tuple[str, int], ...] = ()) -> Buffer:
        """The slot's input buffer at a size (empty where the stage has batch gears)."""
        return self._program.inputs(slot, Gear(1, dims))

    def outputs(self, slot: int, dims: tuple[tuple[str, int], ...] = ()) -> Buffer:
        return self._program.outputs(slot, Gear(1, dims))

    def enqueue(self, slot: int, n: int, stream: Stream, dims: tuple[tuple[str, int], ...] = ()) -> None:
        """Run the first n rows of the slot.

        Errors: DeviceError naming the stage, the gear and the stream.
        """
        assert 1 <= n <= self.rows, (n, self.rows)
        batch = next(size for size in self.batches if size >= n) if self.pads else n
        gear = Gear(batch, dims)
        try:
            self._program.enqueue(slot, gear, stream)
        except DeviceError as error:
            raise error.at(f"stage '{self.stage.graph.name}', gear {gear}, stream {stream.index} of {self.device.name}")  # noqa: B904

    def measure_us(self, stream: Stream) -> dict[int, float]:
        """The time of one step of each batch size, in microseconds, on slot 0 as it stands."""
        costs = {}
        dims = next(iter(self.stage.gears)).dims
        for batch in self.batches:
            best = float("inf")
            for _ in range(2):
                start = time.perf_counter()
                self.enqueue(0, batch, stream, dims)
                stream.synchronize()
                best = min(best, time.perf_counter() - start)
            costs[batch] = best * 1e6
        return costs

    def close(self) -> None:
        self._program.close()
