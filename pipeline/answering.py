"""Answering: each sample of submit and map that was accepted gets one answer, its own or the error that stopped it."""

from __future__ import annotations

import logging
from concurrent.futures import InvalidStateError
from time import perf_counter as clock

from ops import GepipeError, QueueError

from .pending import Job
from .profile.recorder import Recorder

_log = logging.getLogger(__name__)


class Answering:
    """The samples that have been accepted and not been answered, and how they are. Needs no lock."""

    def __init__(self, recorder: Recorder, timeout_us: int) -> None:
        self._recorder = recorder
        self._timeout_us = timeout_us
        self._unanswered: set[Job] = set()

    def accept(self, job: Job) -> None:
        """It will be answered."""
        self._unanswered.add(job)

    def answer(self, job: Job, fault: BaseException | None = None) -> None:
        """Its answer, or its own error, or a fault that it has no part in."""
        self._unanswered.discard(job)
        failure = job.error or fault
        self._record(job, failed=failure is not None)
        if failure is not None:
            job.let_go(failure)
        try:
            if failure is not None:
                job.future.set_exception(failure)
            else:
                job.future.set_result(job.answer)
        except InvalidStateError:
            pass  # somebody else has given up on it
        except BaseException:  # a Future itself tells only of an Exception; and others wait for this thread
            _log.exception("a callback of %r has ended its thread", job.future)

    def refuse(self, job: Job, error: GepipeError) -> None:
        """A sample that is not started: it is too late, or there are no buffers for it."""
        if job.start():
            job.error = error
            self.answer(job)
        else:
            self.forget(job)

    def expire(self, job: Job) -> None:
        """It has waited too long to be started."""
        waited = f"the sample was not started within timeout_us={self._timeout_us}"
        fix = "submit slower, or set Batching(timeout_us=...) higher, 0 for no limit"
        self.refuse(job, QueueError(waited, fix=fix))

    def cancel(self, job: Job) -> None:
        """It is not started, and whoever waits for it hears that."""
        self.forget(job)
        job.future.cancel()
        job.start()

    def forget(self, job: Job) -> None:
        """Somebody has given it up before it was started."""
        self._unanswered.discard(job)

    def answer_all(self, fault: BaseException) -> None:
        """Everybody who still waits hears of a fault of ours."""
        for job in list(self._unanswered):
            self.answer(job, fault)

    def _record(self, job: Job, failed: bool) -> None:
        started = job.times[1] if len(job.times) > 1 else clock()
        if failed:
            self._recorder.requests.fail()
        else:  # it was checked first, and waited then; Recorder.requests has it the other way round
            self._recorder.requests.add((1, started, job.came + started - job.checked, job.came, clock()))
        trace = self._recorder.trace
        if trace is not None:
            trace.queue(job.number, job.checked, started)
