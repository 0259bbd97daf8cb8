"""Session: a plan on a device, ready for samples from any number of threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from time import perf_counter as clock
from typing import TYPE_CHECKING, Any, NamedTuple

from ge_engine.balanced import Balanced
from ge_engine.cores import usable_cores
from ge_engine.devices import Device, Stream, open_device
from ge_engine.engine import Engine
from ge_engine.pool import Pool
from ge_engine.progress import Progress
from ops import DeviceError, GepipeError, SampleError
from ops.near import near

from .deployment import Deployment
from .item import Item
from .lease import ExecutionContext, size_index
from .ordered import ordered
from .pending import Answer
from .profile import Stats, Trace, stats
from .runner import Runner
from .sample import SampleCheck
from .scheduler import Scheduler

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from .bench import Counts
    from .dump import Dump
    from .plan import Plan


def open_for(deployment: Deployment, device: str | Device, progress: Progress | None = None) -> Device:
    """A device with the settings of a deployment. Errors: DeviceError, as of open_device."""
    given = deployment
    return open_device(device, given.threads, given.streams, given.device_ids, given.cores, progress)


class Copies(NamedTuple):
    """Bytes that were copied so far, for all samples that were answered: into the buffers, and out as results."""

    samples: int
    nbytes_in: int
    nbytes_out: int


class Session:
    """Made by `plan.session()`; a context manager. All methods may be called from any thread.

    It has one set of buffers more than batches can be in flight: while a device runs those, the host stage of the next
    batch fills another. submit and map have at least two more than that of their own, and threads, from their first
    call on: so they and the others never wait for each other's buffers.

    A session belongs to the process that opened it. With multiprocessing, open one in each worker, and start the
    workers by "spawn" or "forkserver", or before this process opens a session: a fork has none of the threads.
    """

    def __init__(self, plan: Plan, device: str | Device = "cpu", progress: Progress | None = None) -> None:
        settings = plan.deployment
        self.plan = plan
        self.device = open_for(settings, device, progress)
        self._in_flight = settings.streams * self.device.cards * self.device.in_flight
        own = self._in_flight + 1
        self._slots = Pool(range(own))
        self._scheduler_slots = range(own, own + self._in_flight + 2 + usable_cores())
        streams = [self.device.stream(index) for index in range(self._in_flight)]
        balanced = self.device.cards * self.device.in_flight > 1
        self._streams: Pool[Stream] = Balanced(streams, lambda stream: stream.shares) if balanced else Pool(streams)
        self._held = threading.local()
        self._check = SampleCheck(plan.graph.inputs, _read_by_ops(plan))
        try:
            self._runner = Runner(plan, self.device, self._scheduler_slots.stop, self._streams)
            self._runner.measure()
        except BaseException:
            self.device.close()  # with all that it has loaded
            raise
        self._recorder = self._runner.recorder
        self._endings: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._scheduler: Scheduler | None = None
        self._closed = False
        self._pid = os.getpid()

    @property
    def copies(self) -> Copies:
        """What has been copied: the caller's or a decoder's arrays into the buffers, and results out of them."""
        done = self._recorder.samples.sums()
        return Copies(done.passes, *map(int, done.more))

    def run(self, /, **sample: Any) -> Answer:
        """One sample to its answer, {output name: array}. The arrays own their memory.

        Errors: SampleError, or the error of the node that failed.
        """
        (answer,) = self._run((sample,))
        if isinstance(answer, GepipeError):
            raise answer
        return answer

    def run_batch(self, samples: Sequence[Mapping[str, Any]]) -> list[Answer | GepipeError]:
        """Any number of samples, also none; the answers in order. A sample that fails has its exception there.

        Samples of one size run together.
        """
        _refuse_one("run_batch", samples)
        return self._run(samples)

    def submit(self, /, **sample: Any) -> Future[Answer]:
        """One sample, merged with those of other callers into a batch; the Future of its answer, or of its error.

        Every keyword is an input, so all settings are in the deployment's Batching. To give up after a time of one's
        own: `future.result(timeout)`, and then `future.cancel()`, which stops what has not been started.
        The arrays of the sample may not change before it is answered. Callbacks of the Future run on a thread that
        other samples wait for: keep them short. There, and in an op, `result` of what is not answered is refused.

        Errors: QueueError when Batching.max_pending samples wait already; DeviceError when the session is closed.
        """
        return self._submit(sample)

    def map(self, samples: Iterable[Mapping[str, Any]], *, progress: bool = False) -> Iterator[Answer | GepipeError]:
        """The answers to a stream of samples, in order; in the place of a sample that fails is its exception.

        Samples are taken one by one, as answers are asked for, a few batches ahead: memory stays bounded, and
        max_pending and timeout_us do not apply. An exception of `samples` itself is raised in its place. Ending early
        cancels what has not been started.
        progress: show a bar on the error output, with the rate so far and how many have failed.
        """
        _refuse_one("map", samples)
        scheduler = self._running_scheduler()
        scheduler.refuse_worker()
        answers = ordered(lambda sample: self._submit(sample, limited=False), samples, scheduler.window)
        if not progress:
            return answers
        from .bars import answering  # with what draws them

        return answering(answers, samples)

    @contextmanager
    def lease(self, stage: str | None = None, size: tuple[int, ...] | None = None) -> Iterator[ExecutionContext]:
        """The buffers of a device stage, to fill and run by hand.

        stage: its name, needed where the plan has several. size: (height, width), where the stage has sizes.
        Errors: SampleError for a stage or size that is not there.
        """
        engine = self._engine(stage)
        index = size_index(engine, size)
        slot, held = self._take_slot()
        try:
            context = ExecutionContext(engine, slot, index, self._streams)
            try:
                yield context
            finally:
                context.end()
        finally:
            self._give_slot(slot, held)

    def stats(self) -> Stats:
        """Where the time has gone since the session was opened, a row a node; `print` it, or take its rows."""
        return stats(self._recorder)

    def counters(self) -> Counts:
        """What has been counted, in Triton's words: of the pipeline and of each stage, by the names of an export."""
        from .profile.counters import counters  # with the bench, which nobody needs to run samples

        return counters(self._recorder)

    def trace(self, file: str | os.PathLike[str]) -> Trace:
        """Record every slice from now on, until its `stop` or the end of a `with`; then write a Chrome trace.

        Errors: WrongUse for a file that cannot be written, or while there is another trace.
        """
        return self._recorder.start_trace(file)

    @contextmanager
    def dump_data(self, folder: str | os.PathLike[str], *, layers: bool = False, most: int = 100) -> Iterator[Dump]:
        """Write every value of the samples that are answered inside the `with` into a folder; see pipeline.dump.data.

        layers: also every value inside the device stages, which are run once more for that, on the CPU. most: so many
        samples are written, not more.
        Errors: WrongUse for a folder that cannot be made, or while there is another dump.
        """
        with self._recorder.start_dump(folder, layers, most) as dump:
            self._runner.keep_all(True)
            try:
                yield dump
            finally:
                self._runner.keep_all(False)

    def metrics(self, registry: CollectorRegistry | None = None) -> None:
        """Let a registry of prometheus-client (by default its own) show what is counted, under Triton's names.

        It is asked for when somebody scrapes. What a closed session has counted stays as long as another session of the
        same pipeline is in the registry, for a counter may not fall. Needs the extra `metrics`.
        Errors: GepipeError where prometheus-client is not installed.
        """
        from .profile.metrics import register

        end = register(self._recorder, registry)
        self._endings.append(end)
        weakref.finalize(self, end).atexit = False  # for a session that nobody closes

    def close(self) -> None:
        """Finish what was accepted, then let go of the threads and the device. Later calls are refused."""
        self._close(cancel=False)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        """Left by an exception, it cancels the samples that have not been started."""
        self._close(cancel=kind is not None)

    def _close(self, cancel: bool) -> None:
        if self._closed or os.getpid() != self._pid:
            return
        if getattr(self._held, "count", 0):
            raise GepipeError("the session is closed inside a lease", fix="leave the lease first")
        with self._lock:
            scheduler = self._scheduler
            if scheduler is not None and scheduler.is_worker():
                raise GepipeError("the session is closed inside a Future's callback", fix="close it in another thread")
            if self._closed:
                return  # another thread has been quicker
            self._closed = True
        if scheduler is not None:
            scheduler.close(cancel)
        self._slots.close()
        self._streams.close()
        self._runner.close()
        trace = self._recorder.trace
        if trace is not None:
            self._endings.append(trace.stop)
        try:
            self.device.close()
        finally:
            for end in self._endings:
                end()

    def _run(self, samples: Sequence[Mapping[str, Any]]) -> list[Answer | GepipeError]:
        came = clock()
        slot, held = self._take_slot()
        try:
            started = clock()
            items: list[Item | GepipeError] = [self._item(sample) for sample in samples]
            live = [item for item in items if isinstance(item, Item)]
            checked = clock()
            self._runner.run(live, slot)
        finally:
            self._give_slot(slot, held)
        failed = len(items) - [item.error for item in live].count(None)
        if failed:
            self._recorder.requests.fail()
        else:
            self._recorder.requests.add((len(items), checked, started, came, clock()))
        trace = self._recorder.trace
        if trace is not None:
            trace.request(len(items), failed, came, started, checked)
        return [item if isinstance(item, GepipeError) else item.error or item.answer for item in items]

    def _submit(self, sample: Mapping[str, Any], limited: bool = True) -> Future[Answer]:
        scheduler = self._running_scheduler()
        came = clock()
        try:
            values, copied = self._check.values(sample)
        except SampleError as error:
            self._recorder.requests.fail()
            failed: Future[Answer] = Future()
            failed.set_exception(error)
            return failed
        return scheduler.submit(values, copied, came, limited)

    def _running_scheduler(self) -> Scheduler:
        """Made by the first submit or map."""
        self._check_process()
        if self._scheduler is not None and not self._closed:
            return self._scheduler
        with self._lock:
            if self._closed:
                raise DeviceError("the session is closed", fix="open another: plan.session()")
            if self._scheduler is None:
                settings = self.plan.deployment
                self._scheduler = Scheduler(
                    self._runner, self.device, self._in_flight, self._scheduler_slots, settings.batching
                )
                # For a session that nobody closes: the threads hold the scheduler, not the session.
                weakref.finalize(self, self._scheduler.end_when_done).atexit = False
            return self._scheduler

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise DeviceError(
                f"the session belongs to process {self._pid}, and this is {os.getpid()}, a fork of it",
                fix='open a session in each process: plan.session() after the fork, or start by "spawn"',
            )

    def _item(self, sample: Mapping[str, Any]) -> Item | GepipeError:
        try:
            return Item(*self._check.values(sample))
        except SampleError as error:
            return error

    def _take_slot(self) -> tuple[int, int]:
        """A slot, and how many this thread holds already."""
        self._check_process()
        held = getattr(self._held, "count", 0)
        slot = self._slots.take(wait=not held)  # waiting for what one holds oneself would be for ever
        self._held.count = held + 1
        return slot, held

    def _give_slot(self, slot: int, held: int) -> None:
        self._held.count = held
        self._slots.give(slot)

    def _engine(self, stage: str | None) -> Engine:
        engines = self._runner.engines
        if stage is None and len(engines) == 1:
            return next(iter(engines.values()))
        if stage not in engines:
            wrong = f"there is no device stage {stage!r}" if stage else f"the plan has {len(engines)} device stages"
            raise SampleError(wrong, fix=near(stage or "", engines))
        return engines[stage]


def _refuse_one(method: str, samples: object) -> None:
    if isinstance(samples, (Mapping, str, bytes)):
        raise SampleError(f"{method} was given one {type(samples).__name__}", fix="give a list of samples, or use run")


def _read_by_ops(plan: Plan) -> frozenset[str]:
    return frozenset(key for stage in plan.stages if not stage.on_device for key, _ in stage.inputs)
