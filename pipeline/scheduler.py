"""Scheduler: threads that bring the samples of submit and map through a plan, merged into batches."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from os import getpid
from time import monotonic
from typing import Any

from ge_engine.cores import usable_cores
from ge_engine.devices import Device
from ops import DeviceError, GepipeError

from .answering import Answering
from .deployment import Batching
from .forming import NEVER, Forming, Ticket
from .group import Group, Seat, Sizes
from .item import Item
from .pending import Answer, Awaited, Job, Pending, waits_for_itself
from .runner import Runner

Task = Callable[[], None]


class Scheduler:
    """One queue, and workers that all do the same: whatever brings a batch furthest.

    A worker runs a batch that is due, with all the rest of its way to the answers; else it takes the next sample and
    runs its host stage, straight into its row of a batch. So the samples of a batch are prepared side by side, and who
    completes a batch runs it. On a device that computes on the host's cores there is a worker a core. On another there
    is one more for each stream: it waits there, and needs no core.

    slots: sets of buffers that nobody else uses: one fills and one is answered while each stream runs one. Where the
    size of a sample shows only while it is prepared, each has one in reserve till then; most are never made.
    """

    def __init__(self, runner: Runner, device: Device, streams: int, slots: range, batching: Batching) -> None:
        self._runner = runner
        self._recorder = runner.recorder
        self._batching = batching
        self._pid = getpid()
        first = runner.levels[0]
        if not first.graded:
            slots = slots[: streams + 2]
        ahead = streams - streams // device.in_flight
        self._forming = Forming(first, slots, streams, batching, device.on_host, ahead)
        self._on_host = device.on_host
        self._on_host_alone = not first.engines
        self._unfinished: deque[Task] = deque()
        cores = usable_cores()
        count = max(cores, streams) if device.on_host or self._on_host_alone else cores + streams
        self.window = (len(slots) + 1) * self._forming.rows + 2 * count
        self._pending = Pending(batching.max_pending, self._recorder)
        self._answering = Answering(self._recorder, batching.timeout_us)
        self._broken: BaseException | None = None
        # Taken itself, not through its Condition: an interrupt on the way into that would keep it for ever.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._threads = [
            threading.Thread(target=self._work, name=f"gepipe-{number}", daemon=True) for number in range(count)
        ]
        self._start()

    def submit(self, values: dict[str, Any], copied_in: int, came: float, limited: bool = True) -> Future[Answer]:
        """Queue a sample that is checked. One that is not limited is neither refused nor given up.

        Errors: QueueError when max_pending wait already; DeviceError when the session is closed or broken.
        """
        timeout_us = self._batching.timeout_us if limited else 0
        expires = monotonic() + timeout_us * 1e-6 if timeout_us else NEVER
        job = Job(values, copied_in, came, limited, expires, Awaited(self.is_worker))
        with self._lock:
            if self._broken is not None:
                raise _broken() from self._broken
            if self._forming.closing:
                raise DeviceError("the session is closed", fix="open another: plan.session()")
            given_up = self._pending.add(job)
            self._answering.accept(job)
            self._changed.notify()
        for other in given_up:
            self._answering.cancel(other)
        return job.future

    def is_worker(self) -> bool:
        """Whether this thread is one of the workers."""
        return threading.current_thread() in self._threads

    def refuse_worker(self) -> None:
        """Errors: DeviceError on a worker, for what waits until the workers have done something."""
        if self.is_worker():
            raise waits_for_itself()

    def close(self, cancel: bool = False) -> None:
        """Take nothing more, finish what was accepted (or cancel what has not been started), end the threads."""
        if getpid() != self._pid:
            return  # the threads are the parent's
        with self._lock:
            dropped = self._pending.clear() if cancel else []
            self.end_when_done()
        for job in dropped:
            self._answering.cancel(job)
        for thread in self._threads:
            thread.join()

    def end_when_done(self) -> None:
        """The threads end when what was accepted is done; nobody waits for it."""
        if getpid() != self._pid:
            return  # the threads are the parent's, and perhaps one of them had the lock
        with self._lock:
            self._forming.closing = True
            self._changed.notify_all()

    def _start(self) -> None:
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError as error:
            self._threads = [thread for thread in self._threads if thread.ident is not None]
            self.close()
            raise DeviceError(f"no thread for submit and map: {error}", fix="use fewer streams") from error
        _running.add(self)

    def _work(self) -> None:
        try:
            while (task := self._next()) is not None:
                task()
                del task  # an idle worker would keep the last sample alive
        except BaseException as error:  # a fault of ours: whoever waits must hear of it
            self._break(error)

    def _next(self) -> Task | None:
        """What to do next; waits for it. None: nothing will come any more."""
        with self._lock:
            while self._broken is None:
                now = monotonic()
                waiting = bool(self._pending)
                if self._unfinished:
                    if waiting or self._forming.groups:
                        self._changed.notify()
                    return self._unfinished.popleft()
                group = self._forming.due(waiting, now)
                if group is not None:
                    if waiting:
                        self._changed.notify()
                    return partial(self._run, group)
                task = self._begin(now)
                if task is not None:
                    if self._pending:
                        self._changed.notify()  # there may be a place for one more
                    return task
                if self._forming.closing and not self._pending and not self._forming.groups:
                    self._changed.notify_all()
                    return None
                until = self._forming.next_time()
                self._changed.wait(None if until == NEVER else max(0.0, until - now))
        return None

    def _begin(self, now: float) -> Task | None:
        """Take the next sample, if there is one, and a place for it."""
        while self._pending:
            job = self._pending.first
            if job.expires <= now:
                return partial(self._answering.expire, self._pending.take())
            try:
                ticket = None if self._on_host_alone else self._forming.admit(now)
            except GepipeError as error:
                return partial(self._answering.refuse, self._pending.take(), error)
            if ticket is None and not self._on_host_alone:
                return None
            self._pending.take()
            if job.start():
                return partial(self._run_alone, job) if ticket is None else partial(self._fill, job, ticket)
            self._answering.forget(job)
            if ticket is not None:
                self._forming.settle(ticket, None, now)
        return None

    def _fill(self, job: Job, ticket: Ticket) -> None:
        """The first host stage of a sample, into its row."""

        def find(sizes: Sizes) -> Seat:
            if ticket.seat is not None:
                return ticket.seat
            with self._lock:
                return self._forming.find(ticket, sizes, monotonic())

        fault: BaseException | None = None
        try:
            self._runner.prepare(job)
            self._runner.levels[0].place(job, find)
        except BaseException as error:  # not the sample's own: those are in job.error
            fault = error
        failed = fault or job.error
        with self._lock:
            self._forming.settle(ticket, None if failed else job, monotonic())
        if failed:
            self._answering.answer(job, fault)

    def _run(self, group: Group | None) -> None:
        while group is not None:
            group = self._run_one(group)

    def _run_one(self, group: Group) -> Group | None:
        """The device stages of a batch, and all that follows.

        A device of its own does not wait for that: where the next batch is ready, this thread returns it, to run it at
        once, and another does what follows.
        """
        error: DeviceError | None = None
        fault: BaseException | None = None
        jobs = group.take()
        try:
            error = self._runner.run_group(group, jobs)
        except BaseException as caught:
            fault = caught
        finish = partial(self._finish, group, jobs, error, fault)
        with self._lock:
            self._forming.left_device()
            following = None if self._on_host else self._forming.due(bool(self._pending), monotonic())
            if following is not None:
                self._unfinished.append(finish)
            if following is not None or self._forming.groups:
                self._changed.notify()
        if following is None:
            finish()
        return following

    def _finish(
        self, group: Group, jobs: Sequence[Item], error: DeviceError | None, fault: BaseException | None
    ) -> None:
        """The way of a batch from the device to the answers."""
        try:
            if fault is None:
                self._runner.finish_group(group, jobs, error)
        except BaseException as caught:
            fault = caught
        if fault is not None:
            for row in range(len(jobs)):
                group.clear(row)
        with self._lock:
            self._forming.end(group)
            if self._pending:
                self._changed.notify()
        for job in jobs:
            assert isinstance(job, Job)
            self._answering.answer(job, fault)

    def _run_alone(self, job: Job) -> None:
        """A sample of a plan that has no device stage."""
        fault: BaseException | None = None
        try:
            self._runner.run([job], slot=0)
        except BaseException as error:
            fault = error
        self._answering.answer(job, fault)

    def _break(self, error: BaseException) -> None:
        with self._lock:
            self._broken = error
            self._pending.clear()
            self._changed.notify_all()
        self._answering.answer_all(error)


def _broken() -> GepipeError:
    return DeviceError("a thread of this session has ended by a fault in gepipe", fix="report it; open another session")


_running: weakref.WeakSet[Scheduler] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """A session that nobody closed must not keep its threads at work while the interpreter goes."""
    for scheduler in list(_running):
        scheduler.close(cancel=True)
