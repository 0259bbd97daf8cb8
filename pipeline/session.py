"""Session: a plan on a device, ready for samples from any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ge_engine.devices import Device, Stream, open_device
from ge_engine.engine import Engine
from ge_engine.pool import Pool
from ops import Array, GepipeError, SampleError
from ops.near import near

from .runner import Item, Runner
from .sample import SampleCheck

if TYPE_CHECKING:
    from .plan import Plan

Answer = dict[str, Any]


class Copies(NamedTuple):
    """Bytes that were copied so far: into the buffers, and out as results."""

    samples: int
    nbytes_in: int
    nbytes_out: int


class Session:
    """Made by `plan.session()`; a context manager. All methods may be called from any thread.

    It has streams + 1 sets of buffers: while a device runs one, the host stage of the next batch fills another.
    """

    def __init__(self, plan: Plan, device: str | Device = "cpu") -> None:
        settings = plan.deployment
        self.plan = plan
        self.device = open_device(device, settings.threads, settings.streams)
        slots = settings.streams + 1
        self._streams: Pool[Stream] = Pool(self.device.stream(index) for index in range(settings.streams))
        self._slots = Pool(range(slots))
        self._held = threading.local()
        self._check = SampleCheck(plan.graph.inputs, _read_by_ops(plan))
        self._runner = Runner(plan, self.device, slots, self._streams)
        self._runner.measure()
        self._lock = threading.Lock()
        self._copies = Copies(0, 0, 0)
        self._closed = False

    @property
    def copies(self) -> Copies:
        """What has been copied: the caller's or a decoder's arrays into the buffers, and results out of them."""
        return self._copies

    def run(self, /, **sample: Any) -> Answer:
        """One sample to its answer, {output name: array}. The arrays own their memory.

        Errors: SampleError, or the error of the node that failed.
        """
        (answer,) = self.run_batch((sample,))
        if isinstance(answer, GepipeError):
            raise answer
        return answer

    def run_batch(self, samples: Sequence[Mapping[str, Any]]) -> list[Answer | GepipeError]:
        """Any number of samples, also none; the answers in order. A sample that fails has its exception there.

        Samples of one size run together.
        """
        if isinstance(samples, (Mapping, str, bytes)):
            raise SampleError(
                f"run_batch was given one {type(samples).__name__}", fix="give a list of samples, or use run"
            )
        with self._slot() as slot:
            items: list[Item | GepipeError] = [self._item(sample) for sample in samples]
            live = [item for item in items if isinstance(item, Item)]
            self._runner.run(live, slot)
        self._count(live)
        return [item if isinstance(item, GepipeError) else item.error or item.answer for item in items]

    def submit(self, /, **sample: Any) -> Future[Answer]:
        """One sample, merged with others into a gear. Errors: GepipeError; this version cannot do it yet."""
        raise GepipeError("submit is not here yet", fix="use run, or run_batch with all that you have")

    def map(self, samples: Iterable[Mapping[str, Any]], *, progress: bool = False) -> Iterator[Answer | GepipeError]:
        """A stream of samples, in order. Errors: GepipeError; this version cannot do it yet."""
        raise GepipeError("map is not here yet", fix="use run_batch on as many as fit into memory")

    @contextmanager
    def lease(self, stage: str | None = None, size: tuple[int, ...] | None = None) -> Iterator[ExecutionContext]:
        """The buffers of a device stage, to fill and run by hand.

        stage: its name, needed where the plan has several. size: (height, width), where the stage has sizes.
        Errors: SampleError for a stage or size that is not there.
        """
        engine = self._engine(stage)
        index = _size_index(engine, size)
        with self._slot() as slot:
            context = ExecutionContext(engine, slot, index, self._streams)
            try:
                yield context
            finally:
                context.end()

    def close(self) -> None:
        """Wait for what is running, then let go of the device. Later calls are refused."""
        if self._closed:
            return
        if getattr(self._held, "count", 0):
            raise GepipeError("the session is closed inside a lease", fix="leave the lease first")
        self._closed = True
        self._slots.close()
        self._streams.close()
        self._runner.close()
        self.device.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _item(self, sample: Mapping[str, Any]) -> Item | GepipeError:
        try:
            return Item(*self._check.values(sample))
        except SampleError as error:
            return error

    @contextmanager
    def _slot(self) -> Iterator[int]:
        held = getattr(self._held, "count", 0)
        slot = self._slots.take(wait=not held)  # waiting for what one holds oneself would be for ever
        self._held.count = held + 1
        try:
            yield slot
        finally:
            self._held.count = held
            self._slots.give(slot)

    def _count(self, items: list[Item]) -> None:
        with self._lock:
            samples, nbytes_in, nbytes_out = self._copies
            self._copies = Copies(
                samples + len(items),
                nbytes_in + sum(item.copied_in for item in items),
                nbytes_out + sum(item.copied_out for item in items),
            )

    def _engine(self, stage: str | None) -> Engine:
        engines = self._runner.engines
        if stage is None and len(engines) == 1:
            return next(iter(engines.values()))
        if stage not in engines:
            wrong = f"there is no device stage {stage!r}" if stage else f"the plan has {len(engines)} device stages"
            raise SampleError(wrong, fix=near(stage or "", engines))
        return engines[stage]


class ExecutionContext:
    """A set of buffers of one device stage, and the streams it may run on.

    inputs[name]   dtype[rows, ...]  to be filled; names as `print(plan)` shows
    outputs[name]  dtype[rows, ...]  valid after run
    They are the memory that the device is bound to: valid inside the lease, overwritten after it.
    """

    def __init__(self, engine: Engine, slot: int, size: int, streams: Pool[Stream]) -> None:
        self.inputs: Mapping[str, Array] = engine.inputs(slot, size).arrays
        self.outputs: Mapping[str, Array] = engine.outputs(slot, size).arrays
        self._engine = engine
        self._slot = slot
        self._size = size
        self._streams = streams
        self._ended = False

    def run(self, n: int) -> None:
        """Run the first n rows.

        Errors: SampleError when n is out of range or the lease is over; DeviceError.
        """
        if self._ended:
            raise SampleError("the lease is over", fix="run inside `with session.lease() as context:`")
        if not 1 <= n <= self._engine.rows:
            raise SampleError(f"run({n})", fix=f"run 1 to {self._engine.rows} rows")
        stream = self._streams.take()
        try:
            self._engine.enqueue(self._slot, n, stream, self._size)
            stream.synchronize()
        finally:
            self._streams.give(stream)

    def end(self) -> None:
        """What a user left in the rows must not become another batch's padding."""
        self._ended = True
        if self._engine.pads:
            for array in self.inputs.values():
                array.fill(0)


def _read_by_ops(plan: Plan) -> frozenset[str]:
    return frozenset(key for stage in plan.stages if not stage.on_device for key, _ in stage.inputs)


def _size_index(engine: Engine, size: tuple[int, ...] | None) -> int:
    if size is None and len(engine.sizes) == 1:
        return 0
    sizes = [tuple(value for _, value in gear.dims) for gear in engine.sizes]
    if size not in sizes or not size:
        known = ", ".join(map(str, sizes)) if sizes[0] else "none: it has batch gears"
        raise SampleError(f"there is no size {size}", fix=f"the sizes are {known}")
    return sizes.index(size)
