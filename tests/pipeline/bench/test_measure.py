from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Iterable, Iterator

import pytest

from ops import GepipeError, ServerError
from pipeline.bench import Client, Counters, RequestFailed, Settings, measure

ONE_SECOND = Settings(window_s=1.0)


class Scripted:
    """Answers one client, after times that are written down; its clock stands still in between."""

    name = "scripted"
    rows = 3

    def __init__(self, latencies: Iterable[float | Exception]) -> None:
        self.now = 0.0
        self.answered = 0
        self._latencies: Iterator[float | Exception] = iter(latencies)

    def clock(self) -> float:
        return self.now

    def client(self) -> Client:
        return self

    def request(self) -> None:
        latency = next(self._latencies)
        if isinstance(latency, Exception):
            self.now += 0.125
            raise latency
        self.now += latency
        self.answered += 1

    def close(self) -> None: ...

    def counters(self) -> dict[str, Counters]:
        return {self.name: Counters(succeeded=self.answered, inferences=self.answered * self.rows)}


def test_three_windows_after_the_one_for_warming_up() -> None:
    target = Scripted(itertools.chain([0.5, 0.5], itertools.repeat(0.125)))
    level = measure(target, 1, ONE_SECOND, clock=target.clock)
    assert (level.verdict, level.windows) == ("stable", 3)
    assert level.answered == 2 + 3 * 8
    assert level.window.latencies == [0.125] * 24
    assert (level.window.seconds, level.window.infer_per_sec) == (3.0, 24.0)
    assert level.window.counted["scripted"].inferences == 3 * 24
    assert level.total["scripted"].succeeded == level.answered
    assert level.others("scripted") == 0


def test_it_goes_on_until_three_windows_agree() -> None:
    slower = [0.0625] * 16 + [0.25] * 4 + [0.5] * 2
    target = Scripted(itertools.chain([1.0], slower, itertools.repeat(0.125)))
    level = measure(target, 1, ONE_SECOND, clock=target.clock)
    assert (level.verdict, level.windows) == ("stable", 6)
    assert level.window.latencies == [0.125] * 24


def test_windows_that_never_agree_are_unstable() -> None:
    target = Scripted(0.5**power for power in itertools.count() for _ in range(2**power))
    level = measure(target, 1, Settings(window_s=1.0, max_windows=5), clock=target.clock)
    assert (level.verdict, level.windows) == ("unstable", 5)
    assert len(level.window.latencies) == 2**3 + 2**4 + 2**5


def test_a_window_lasts_until_something_was_answered() -> None:
    target = Scripted(itertools.repeat(4.0))
    level = measure(target, 1, ONE_SECOND, clock=target.clock)
    assert (level.window.seconds, level.window.requests_per_sec) == (12.0, 0.25)


def test_failing_requests_are_counted_and_the_first_one_is_kept() -> None:
    errors = (RequestFailed(f"error {number}") for number in itertools.count(1))
    target = Scripted(latency for pair in zip(errors, itertools.repeat(0.125)) for latency in pair)
    level = measure(target, 1, ONE_SECOND, clock=target.clock)
    assert (level.answered, level.failed) == (16, 16)
    assert level.first_error == "error 1"
    assert level.window.latencies == [0.125] * 12


def test_when_all_requests_fail_that_is_an_error() -> None:
    target = Scripted(itertools.repeat(RequestFailed("no such tensor")))
    with pytest.raises(GepipeError, match="every request fails: no such tensor"):
        measure(target, 1, ONE_SECOND, clock=target.clock)


def test_another_error_of_a_client_ends_it() -> None:
    target = Scripted([0.125, 0.125, ServerError("it is gone")])
    with pytest.raises(ServerError, match="it is gone"):
        measure(target, 1, ONE_SECOND, clock=target.clock)


def test_requests_of_others_are_noticed() -> None:
    class Shared(Scripted):
        def counters(self) -> dict[str, Counters]:
            return {self.name: Counters(succeeded=2 * self.answered)}

    target = Shared(itertools.repeat(0.125))
    level = measure(target, 1, ONE_SECOND, clock=target.clock)
    assert level.others("scripted") == level.answered == 32


def test_ctrl_c_keeps_what_there_is() -> None:
    class Interrupted(Scripted):
        def request(self) -> None:
            super().request()
            if self.answered == 100:
                main = threading.main_thread().ident
                assert main is not None
                signal.pthread_kill(main, signal.SIGINT)

    target = Interrupted(itertools.repeat(2.0**-20))
    level = measure(target, 1, Settings(window_s=1e9), clock=target.clock)
    assert (level.verdict, level.windows) == ("interrupted", 1)
    assert level.window.latencies == [2.0**-20] * len(level.window.latencies)
    assert 100 <= len(level.window.latencies) <= level.answered


class Counting:
    """Answers any number of clients at once, and counts how many there are."""

    name = "counting"
    rows = 2

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.answered = self.open = self.closed = 0

    def client(self) -> Client:
        with self.lock:
            self.open += 1
        return _Asking(self)

    def counters(self) -> dict[str, Counters]:
        with self.lock:
            return {self.name: Counters(succeeded=self.answered, inferences=self.rows * self.answered)}


class _Asking:
    def __init__(self, target: Counting) -> None:
        self.target = target

    def request(self) -> None:
        with self.target.lock:
            self.target.answered += 1

    def close(self) -> None:
        with self.target.lock:
            self.target.closed += 1


def test_clients_at_once_lose_no_request() -> None:
    target = Counting()
    level = measure(target, 8, Settings(window_s=0.02, max_windows=3))
    assert (target.open, target.closed) == (8, 8)
    assert level.answered == target.answered == level.total["counting"].succeeded
    assert level.windows == 3
    assert 0 < len(level.window.latencies) < level.answered
    assert abs(level.window.counted["counting"].succeeded - len(level.window.latencies)) <= 2 * 8
    assert level.window.cpu_s > 0
