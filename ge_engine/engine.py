"""Engine: one built stage on a device. It picks the gear, and says where a failure was."""

from __future__ import annotations

import time

from ops import DeviceError

from .buffer import Buffer
from .devices.base import Device, Stream
from .gears import Gear, pick
from .stage import BuiltStage


class Engine:
    """A stage loaded with `slots` sets of buffers.

    rows: the most samples of one run. batches: the sizes that a batch is padded to. sizes: a gear for each size that
    the stage takes; just one where it has batch gears.
    Errors: DeviceError for a stage that this device cannot run without padding it.
    """

    def __init__(self, stage: BuiltStage, device: Device, slots: int, largest: int) -> None:
        self.stage = stage
        self.device = device
        # Without a graph for any batch size, a batch has to fit a gear on every device.
        self.pads = device.pads or any(gear.dims not in stage.shared for gear in stage.gears)
        mixes = stage.mixing_node is not None
        sizes = bool(stage.gears.sizes)
        if mixes and self.pads and 1 not in stage.gears.batches:
            raise DeviceError(
                f"stage '{stage.graph.name}' runs one sample at a time, since '{stage.mixing_node}' makes the samples "
                f"of a batch depend on each other; its gears are {', '.join(map(str, stage.gears))}",
                fix="have 1 among the gears; export a model of a fixed batch with a dynamic one",
            )
        if mixes or (sizes and self.pads):
            self.rows = 1
        elif sizes:
            self.rows = largest
        else:
            self.rows = stage.gears.largest
        self.batches = tuple(batch for batch in stage.gears.batches if batch <= self.rows) or (1,)
        self.sizes = tuple({gear.dims: gear for gear in stage.gears}.values())
        self._gears = {
            (size, n): gear.with_batch(pick(self.batches, n) if self.pads else n)
            for size, gear in enumerate(self.sizes)
            for n in range(1, self.rows + 1)
        }
        self._program = device.load(stage, slots, self.rows)

    def inputs(self, slot: int, size: int = 0) -> Buffer:
        """The slot's input buffer at a size, by its index (0 where the stage has batch gears).

        Errors: DeviceError naming the stage and the gear, where a slot's buffers are made when first asked for.
        """
        try:
            return self._program.inputs(slot, self.sizes[size])
        except DeviceError as error:
            gear, device = self.sizes[size].with_batch(self.rows), self.device.name
            raise error.at(f"stage '{self.stage.graph.name}', gear {gear}, buffers for a stream of {device}")  # noqa: B904

    def outputs(self, slot: int, size: int = 0) -> Buffer:
        return self._program.outputs(slot, self.sizes[size])

    def gear(self, n: int, size: int = 0) -> Gear:
        """The gear that n rows run in."""
        return self._gears[size, n]

    def enqueue(self, slot: int, n: int, stream: Stream, size: int = 0) -> None:
        """Run the first n rows of the slot.

        Errors: DeviceError naming the stage, the gear and the stream.
        """
        assert 1 <= n <= self.rows, (n, self.rows)
        gear = self._gears[size, n]
        try:
            self._program.enqueue(slot, gear, stream)
        except DeviceError as error:
            raise error.at(f"stage '{self.stage.graph.name}', gear {gear}, stream {stream.index} of {self.device.name}")  # noqa: B904

    def measure_us(self, stream: Stream) -> dict[int, float]:
        """The time of one step of each batch size, in microseconds, on slot 0 as it stands."""
        costs = {}
        for batch in self.batches:
            best = float("inf")
            for _ in range(2):
                start = time.perf_counter()
                self.enqueue(0, batch, stream)
                stream.synchronize()
                best = min(best, time.perf_counter() - start)
            costs[batch] = best * 1e6
        return costs

    def close(self) -> None:
        self._program.close()
