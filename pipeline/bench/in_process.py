"""A session of this process as the target of a bench, with the session's own counters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as TimedOut
from typing import TYPE_CHECKING, Any

from ops import DeviceError, GepipeError, QueueError, WrongUse

from ..counters import Counts
from .measure import Client, RequestFailed

if TYPE_CHECKING:
    from ..session import Session

Sample = Mapping[str, Any]


class SessionTarget:
    """Clients that give a session these samples: one at a time to `submit`, which merges them, or `rows` at a time to
    `run_batch`. One request is tried.

    made_up: whether nobody chose the samples, so that a refusal is no wonder.
    Errors: WrongUse for samples that the session refuses.
    """

    def __init__(
        self, session: Session, samples: Sequence[Sample], rows: int, timeout_s: float, made_up: bool = False
    ) -> None:
        self.name = next(iter(session.counters()))
        self.rows = rows
        self.where = f"{session.device.name}, in this process"
        self._session = session
        self._samples = samples
        self._timeout_s = timeout_s
        try:
            self.client().request()
        except RequestFailed as error:
            what, _, fix = str(error).partition("\nfix: ")
            if made_up:
                what = f"made up of random data: {what}"
                given = "give values that it takes: -i NAME=@FILE"
                fix = f"{fix}; or {given}" if isinstance(error.__cause__, DeviceError) else given
            raise WrongUse(f"{self.name} refuses a trial request, {what}", fix=fix) from error

    def client(self) -> Client:
        samples = itertools.cycle(self._samples)
        if self.rows == 1:
            return _One(self._session, samples, self._timeout_s)
        return _Several(self._session, samples, self.rows)

    def counters(self) -> Counts:
        return self._session.counters()


class _One:
    """Submits a sample, and waits for its answer."""

    def __init__(self, session: Session, samples: Iterator[Sample], timeout_s: float) -> None:
        self._session = session
        self._samples = samples
        self._timeout_s = timeout_s

    def request(self) -> None:
        try:
            future = self._session.submit(**next(self._samples))
        except QueueError as error:
            raise WrongUse(
                f"more clients ask at once than may wait: {error.message}",
                fix='lower --concurrency, or raise max_pending: {"batching": {"max_pending": N}} in --deployment',
            ) from error
        try:
            future.result(self._timeout_s)
        except TimedOut as error:
            future.cancel()
            raise RequestFailed(f"no answer within {self._timeout_s:g} s") from error
        except GepipeError as error:
            raise RequestFailed(str(error)) from error

    def close(self) -> None:
        return


class _Several:
    """Runs samples in a call."""

    def __init__(self, session: Session, samples: Iterator[Sample], rows: int) -> None:
        self._session = session
        self._samples = samples
        self._rows = rows

    def request(self) -> None:
        answers = self._session.run_batch(list(itertools.islice(self._samples, self._rows)))
        for answer in answers:
            if isinstance(answer, GepipeError):
                raise RequestFailed(str(answer)) from answer

    def close(self) -> None:
        return
