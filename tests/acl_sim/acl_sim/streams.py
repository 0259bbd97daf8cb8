"""Streams: work that waits until somebody synchronizes, what is ordered behind what, and when all of it happens."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .memory import Access
from .timing import Lane, Span, Timeline, Timing
from .violation import Violation

Work = Callable[[], int]  # does it, and returns a code


@dataclass(eq=False)
class Context:
    """Of a device. default: set_device made it."""

    handle: int
    device: int
    default: bool


@dataclass(eq=False)
class Event:
    """What is before it, once it was recorded: of each stream, the number of the last piece of work."""

    handle: int
    context: Context
    stream: Stream | None = None
    before: dict[Stream, int] = field(default_factory=dict)
    time: float = 0.0


@dataclass(eq=False)
class Stream:
    """Work in order. before: what of other streams is done when its next piece begins.

    failed: the code of work that failed, until a synchronize of this stream tells it. sticky: then, too; and no more
    work is done.
    """

    handle: int
    index: int
    context: Context
    pending: list[Op] = field(default_factory=list)
    count: int = 0
    before: dict[Stream, int] = field(default_factory=dict)
    free_at: float = 0.0
    runs: list[tuple[float, float]] = field(default_factory=list)  # the last of them
    failed: int = 0
    sticky: bool = False


@dataclass(eq=False)
class Op:
    """One piece of work. holds: handles that must live until it is done. sums: of host bytes, that are to stay."""

    kind: str
    stream: Stream
    number: int
    work: Work
    accesses: tuple[Access, ...]
    holds: frozenset[int]
    wait: dict[Stream, int]
    sums: dict[Access, int] = field(default_factory=dict)
    model: int = 0

    def spoil(self) -> None:
        """It was not done: what it was to write is written, with nothing that makes sense."""
        for access in self.accesses:
            if access.write:
                access.poison()
                access.touch()


def ordered(op: Op, stream: Stream | None) -> bool:
    """Whether work is done before what is put on a stream next; None stands for the host, which waits for nothing."""
    return stream is not None and (op.stream is stream or stream.before.get(op.stream, 0) >= op.number)


class Clock:
    """The time of each host thread. A thread that is new begins at the latest time that is known."""

    def __init__(self) -> None:
        self._times: dict[int, float] = {}

    @property
    def now(self) -> float:
        return self._times.setdefault(threading.get_ident(), max(self._times.values(), default=0.0))

    def pass_(self, duration: float) -> None:
        self._times[threading.get_ident()] = self.now + duration

    def until(self, time: float) -> None:
        self._times[threading.get_ident()] = max(self.now, time)


class Queues:
    """The streams of all devices."""

    def __init__(self, timing: Timing, devices: int) -> None:
        self.timing = timing
        self.timeline = Timeline()
        self.clock = Clock()
        self.streams: list[Stream] = []
        self._lanes = [{kind: Lane() for kind in ("h2d", "d2h", "d2d", "memset")} for _ in range(devices)]
        self._created = 0

    def open(self, handle: int, context: Context) -> Stream:
        stream = Stream(handle, self._created, context)
        self._created += 1
        self.streams.append(stream)
        return stream

    def on(self, device: int) -> list[Stream]:
        return [stream for stream in self.streams if stream.context.device == device]

    @property
    def pending(self) -> Iterable[Op]:
        return [op for stream in self.streams for op in stream.pending]

    def holding(self, handle: int) -> Op | None:
        """The work in flight that needs this handle."""
        return next((op for op in self.pending if handle in op.holds), None)

    def enqueue(
        self,
        kind: str,
        stream: Stream,
        accesses: tuple[Access, ...],
        work: Work,
        *,
        what: str,
        holds: Iterable[int] = (),
        duration: Callable[[int], float],
        watched: tuple[Access, ...] = (),
        model: int = 0,
    ) -> None:
        """Errors: Violation (S16) where something on another stream uses the same bytes without an event between."""
        self.check(accesses, kind, stream)
        stream.count += 1
        sums = {access: checksum(access) for access in watched}
        stream.pending.append(
            Op(kind, stream, stream.count, work, accesses, frozenset(holds), dict(stream.before), sums, model)
        )
        self._schedule(kind, stream, accesses, what, duration)

    def check(self, accesses: tuple[Access, ...], what: str, stream: Stream | None = None) -> None:
        """Of work on a stream, or of the host itself, that touches these bytes now."""
        for op in self.pending:
            if ordered(op, stream):
                continue
            for access in accesses:
                hit = next((other for other in op.accesses if other.conflicts(access)), None)
                if hit is not None:
                    place = f"stream {stream.index}" if stream is not None else "the host"
                    verbs = ["writes" if one.write else "reads" for one in (access, hit)]
                    raise Violation(
                        "S16",
                        f"{what} on {place} {verbs[0]} bytes {access.low} to {access.high} of {access.block}, which "
                        f"{op.kind} on stream {op.stream.index} {verbs[1]}, and nothing orders the two",
                    )

    def record(self, event: Event, stream: Stream) -> None:
        event.stream = stream
        event.before = {**stream.before, stream: stream.count}
        event.time = max(stream.free_at, self.clock.now)

    def wait(self, stream: Stream, event: Event) -> None:
        if event.stream is None:
            raise Violation("S16", "stream_wait_event on an event that was never recorded: it orders nothing")
        for other, number in event.before.items():
            stream.before[other] = max(stream.before.get(other, 0), number)
        stream.free_at = max(stream.free_at, event.time)

    def drain(self, stream: Stream, upto: int | None = None) -> None:
        """Do the work of a stream, and before each piece what it waits for."""
        while stream.pending and (upto is None or stream.pending[0].number <= upto):
            op = stream.pending[0]
            for other, number in op.wait.items():
                if other is not stream:
                    self.drain(other, number)
            if stream.pending and stream.pending[0] is op:
                self._do(op)

    def finish(self, stream: Stream) -> int:
        """Do all of a stream's work. A failure is told to who asks first, whosever work it was; a sticky one to all."""
        self.drain(stream)
        code, stream.failed = stream.failed, stream.failed if stream.sticky else 0
        return code

    def abandon(self, stream: Stream) -> None:
        """End all that is in flight on a stream, undone."""
        for op in stream.pending:
            op.spoil()
        stream.pending.clear()

    def _do(self, op: Op) -> None:
        stream = op.stream
        stream.pending.pop(0)
        for access, before in op.sums.items():
            if checksum(access) != before:
                what = f"while {op.kind} on stream {stream.index} used it"
                raise Violation("S6", f"the host changed {access.block} {what}")
        code = stream.failed if stream.sticky else op.work()
        if code:
            op.spoil()
            stream.failed = code  # and the next one runs, as ACL_CONTINUE_ON_FAILURE says
        self._changed([access for access in op.accesses if access.write and access.block.device is None])

    def _changed(self, written: list[Access]) -> None:
        """Host bytes that the device wrote are other bytes now to those who use them later."""
        for op in self.pending if written else ():
            for access in op.sums:
                if any(access.conflicts(other) for other in written):
                    op.sums[access] = checksum(access)

    def _schedule(
        self, kind: str, stream: Stream, accesses: tuple[Access, ...], what: str, duration: Callable[[int], float]
    ) -> None:
        device = stream.context.device
        begin = max(self.clock.now, stream.free_at + self.timing.gap_us, *(access.ready() for access in accesses))
        busy = 1
        if kind == "run":
            others = (other for other in self.on(device) if other is not stream)
            busy += sum(any(start <= begin < end for start, end in other.runs) for other in others)
            takes = duration(busy)
            stream.runs = [*stream.runs[-8:], (begin, begin + takes)]
        else:
            takes = duration(busy)
            begin = self._lanes[device][kind].place(begin, takes)
        end = begin + takes
        stream.free_at = end
        for access in accesses:
            access.mark(end)
        self.timeline.spans.append(Span(device, stream.index, kind, what, begin, end))


def checksum(access: Access) -> int:
    return zlib.crc32(access.bytes.data)
