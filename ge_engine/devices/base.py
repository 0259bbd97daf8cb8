"""The protocol of a device: load a built stage, enqueue a gear on a stream, synchronize."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

from ..buffer import Buffer
from ..gears import Gear
from ..stage import BuiltStage

Watch = Callable[[str, float, float], None]


class Stream(Protocol):
    """An execution queue. What is enqueued on it runs in order.

    watch: told what the device does within a run, as a transfer, and when (perf_counter); where it knows.
    shares: what it has in common with other streams, the widest first, as a card. The one that shares with the fewest
    that are in use is taken next.
    """

    watch: Watch | None

    @property
    def shares(self) -> tuple[Hashable, ...]: ...

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
    cards: how many there are of it; each has the streams of the deployment.
    in_flight: how many batches are on their way for each stream: 2 where one is copied while the other computes. For
    the device each of them is a Stream, so a session has streams * cards * in_flight.
    """

    @property
    def name(self) -> str: ...

    @property
    def pads(self) -> bool: ...

    @property
    def on_host(self) -> bool: ...

    @property
    def cards(self) -> int: ...

    @property
    def in_flight(self) -> int: ...

    def stream(self, index: int) -> Stream: ...

    def load(self, stage: BuiltStage, slots: int, rows: int) -> Program:
        """Errors: DeviceError when the graph cannot be loaded."""

    def close(self) -> None: ...
