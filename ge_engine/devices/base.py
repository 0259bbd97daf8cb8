"""The protocol of a device: load a built stage, enqueue a gear on a stream, synchronize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..buffer import Buffer
from ..gears import Gear
from ..stage import BuiltStage

Watch = Callable[[str, float, float], None]


class Stream(Protocol):
    """An execution queue. What is enqueued on it runs in order.

    watch: told what the device does within a run, as a transfer, and when (perf_counter); where it knows.
    """

    watch: Watch | None

    @property
    def index(self) -> int: ...

    def synchronize(self) -> None:
        """Wait for all that was enqueued; outputs are valid after it, not before.

        Errors: DeviceError; the stream is empty and usable again after one.
        """


class Program(Protocol):
    """One stage on a device: a slot's buffers are allocated when it is first used, and bound once for each gear."""

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        """The buffer that host code writes for this slot; its rows hold the most samples that one run takes."""

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        """The buffer that a run fills."""

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        """Run the gear on the first `gear.batch` rows of the slot's buffers.

        Errors: DeviceError, here or at the stream's synchronize.
        """

    def close(self) -> None: ...


class Device(Protocol):
    """Where graphs run.

    pads: it runs the gears' own sizes only, so a batch is padded to one; else any size up to the rows of its buffers.
    on_host: it computes on the host's own cores, on the thread that enqueues; else a thread waits in synchronize while
    the cores are free for other work.
    """

    @property
    def name(self) -> str: ...

    @property
    def pads(self) -> bool: ...

    @property
    def on_host(self) -> bool: ...

    def stream(self, index: int) -> Stream: ...

    def load(self, stage: BuiltStage, slots: int, rows: int) -> Program:
        """Errors: DeviceError when the graph cannot be loaded."""

    def close(self) -> None: ...
