"""Pending: the samples of submit and map that wait to be started."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter as clock
from traceback import clear_frames
from typing import Any

from ops import DeviceError, QueueError

from .item import Item
from .profile import Recorder

Answer = dict[str, Any]


class Awaited(Future[Answer]):
    """A Future that no worker of its own session waits for: they all might, and nobody would be left to answer it."""

    def __init__(self, is_worker: Callable[[], bool]) -> None:
        super().__init__()
        self._is_worker = is_worker

    def result(self, timeout: float | None = None) -> Answer:
        """Errors: DeviceError in an op or a callback that runs for submit or map; else that of the sample."""
        self._refuse_worker()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Errors: DeviceError as for `result`."""
        self._refuse_worker()
        return super().exception(timeout)

    def _refuse_worker(self) -> None:
        if not self.done() and self._is_worker():
            raise waits_for_itself()


def waits_for_itself() -> DeviceError:
    """What is said on a worker that would wait for a worker."""
    return DeviceError(
        "a thread of the session would wait for the session itself",
        fix="in an op or a callback, call session.run, or go on in another callback: future.add_done_callback(...)",
    )


class Job(Item):
    """A sample that somebody waits for. limited: it counts against max_pending."""

    __slots__ = ("came", "checked", "expires", "future", "limited")

    def __init__(
        self, values: dict[str, Any], copied_in: int, came: float, limited: bool, expires: float, future: Awaited
    ) -> None:
        super().__init__(values, copied_in)
        self.came = came
        self.checked = clock()
        self.future = future
        self.limited = limited
        self.expires = expires

    def let_go(self, error: BaseException | None) -> None:
        """It has failed. Who keeps the error is not to keep its pictures, in the frames that the error came through."""
        self.values.clear()
        self.given = ()
        while error is not None:
            clear_frames(error.__traceback__)
            error = error.__cause__ or error.__context__

    def start(self) -> bool:
        """Whether somebody still waits for it; from now on it is too late to cancel it."""
        try:
            return self.future.set_running_or_notify_cancel()
        except RuntimeError:  # somebody else has set its state, which is not theirs to do
            return not self.future.done()


class Pending:
    """A queue, of which samples that are limited may take max_pending places. The caller holds a lock."""

    def __init__(self, max_pending: int, recorder: Recorder) -> None:
        self._jobs: deque[Job] = deque()
        self._max_pending = max_pending
        self._num_limited = 0
        self._recorder = recorder
        recorder.pending = self._jobs.__len__

    def __bool__(self) -> bool:
        return bool(self._jobs)

    @property
    def first(self) -> Job:
        return self._jobs[0]

    def add(self, job: Job) -> list[Job]:
        """Put a sample at the end; those that somebody has given up, and that made room for it.

        Errors: QueueError when max_pending wait already.
        """
        given_up = self._make_room() if job.limited and self._num_limited >= self._max_pending else []
        self._num_limited += job.limited
        self._jobs.append(job)
        self._trace()
        return given_up

    def take(self) -> Job:
        """The first one; it is not in the queue any more."""
        job = self._jobs.popleft()
        self._num_limited -= job.limited
        self._trace()
        return job

    def clear(self) -> list[Job]:
        """All that were there."""
        jobs = list(self._jobs)
        self._jobs.clear()
        self._num_limited = 0
        return jobs

    def _make_room(self) -> list[Job]:
        given_up = [job for job in self._jobs if job.limited and job.future.cancelled()]
        if not given_up:
            self._recorder.requests.fail()
            raise QueueError(
                f"{self._num_limited} samples wait already, and max_pending is {self._max_pending}",
                fix="submit slower, use map, which waits by itself, or set Batching(max_pending=...)",
            )
        gone = set(given_up)
        for _ in range(len(self._jobs)):
            job = self._jobs.popleft()
            if job not in gone:
                self._jobs.append(job)
        self._num_limited -= len(given_up)
        return given_up

    def _trace(self) -> None:
        trace = self._recorder.trace
        if trace is not None:
            trace.pending(len(self._jobs))
