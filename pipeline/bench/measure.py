"""Measure: N clients at once, each with its next request as soon as the last is answered (a closed loop)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from ops import GepipeError

from ..counters import Counters, Counts, difference
from .window import AGREE, Window, merge, stable

STABLE, UNSTABLE, INTERRUPTED = "stable", "unstable", "interrupted"
_PACE_S = 1.0  # between two looks at the NPU
_PATIENCE_S = 2.0  # for requests that are under way when the measurement breaks off

Clock = Callable[[], float]
Usage = Callable[[], Mapping[str, float]]


class RequestFailed(Exception):
    """One request was not answered as it should be; others may be."""


class Client(Protocol):
    """One of those who ask; made, used and closed in one thread."""

    def request(self) -> None:
        """One request, until it is answered. Errors: RequestFailed; any other error ends the measurement."""

    def close(self) -> None: ...


class Target(Protocol):
    """What is measured: the first of `counters` has its `name`. rows: samples in a request."""

    name: str
    rows: int

    def client(self) -> Client: ...

    def counters(self) -> Counts:
        """What it has counted so far, by model or stage; from any thread."""


@dataclass(frozen=True)
class Settings:
    """How long a window is, how well three in a row must agree, and how many there are at most."""

    window_s: float = 2.0
    stability: float = 0.1
    max_windows: int = 10


@dataclass(frozen=True)
class Level:
    """A measurement with so many clients.

    verdict: "stable"; "unstable" when the windows never agreed, or "interrupted". window: the last three, as one.
    answered, failed: the requests of the whole measurement, first to last; total: what the target counted in that time.
    npu: mean use of each chip in percent, where npu-smi is.
    """

    concurrency: int
    verdict: str
    window: Window
    windows: int
    answered: int
    failed: int
    total: Counts = field(default_factory=dict)
    first_error: str = ""
    npu: Mapping[str, float] = field(default_factory=dict)

    def others(self, name: str) -> int:
        """Requests that the target answered meanwhile to somebody else."""
        return max(0, self.total.get(name, Counters()).succeeded - self.answered)


def measure(
    target: Target,
    concurrency: int,
    settings: Settings = Settings(),
    *,
    usage: Usage | None = None,
    clock: Clock = time.perf_counter,
) -> Level:
    """Windows until three in a row agree. The first is for warming up and not counted. Ctrl-C ends it early.

    usage: the use of each NPU now, in percent.
    Errors: GepipeError when every request of a window fails; whatever else a client raises.
    """
    before = target.counters()
    load = _Load(target, concurrency, settings, clock)
    threads = [threading.Thread(target=load.ask, daemon=True, name=f"client {n}") for n in range(concurrency)]
    seen: list[Mapping[str, float]] = []
    try:
        for thread in threads:
            thread.start()
        while not load.over.wait(_PACE_S):
            if usage is not None and load.windows:
                seen.append(usage())
    except KeyboardInterrupt:
        load.end(INTERRUPTED)
    finally:
        load.over.set()
    patience = None if load.verdict in (STABLE, UNSTABLE) else time.monotonic() + _PATIENCE_S
    for thread in threads:
        if thread.ident is not None:
            thread.join(None if patience is None else max(0.0, patience - time.monotonic()))
    if load.error is not None:
        raise load.error
    total = difference(target.counters(), before) if load.verdict != INTERRUPTED else {}
    return Level(
        concurrency,
        load.verdict,
        merge(load.windows[-AGREE:]),
        len(load.windows),
        load.answered,
        load.failed,
        total,
        load.first_error,
        _mean(seen),
    )


def _mean(rows: list[Mapping[str, float]]) -> dict[str, float]:
    return {chip: sum(row.get(chip, 0.0) for row in rows) / len(rows) for chip in (rows[0] if rows else {})}


class _Load:
    """What the clients share. The one whose answer is the first after the end of a window closes it."""

    def __init__(self, target: Target, concurrency: int, settings: Settings, clock: Clock) -> None:
        self.target = target
        self.settings = settings
        self.windows: list[Window] = []
        self.answered = self.failed = 0
        self.first_error = ""
        self.verdict = ""
        self.error: BaseException | None = None
        self.over = threading.Event()
        self._least = concurrency  # answers in a window, however long that takes
        self._clock = clock
        self._lock = threading.Lock()
        self._warm = False
        self._open(clock(), {})

    def ask(self) -> None:
        """A client, from the first to the last request."""
        try:
            with closing(self.target.client()) as client:
                while not self.over.is_set():
                    begin = self._clock()
                    try:
                        client.request()
                    except RequestFailed as error:
                        self._add(None, str(error))
                    else:
                        self._add(self._clock() - begin)
        except BaseException as error:  # it ends the measurement, whatever it is
            self.end("", error)

    def end(self, verdict: str, error: BaseException | None = None) -> None:
        """The first end counts. An interrupted window counts for what it is."""
        with self._lock:
            if self.over.is_set():
                return
            if verdict == INTERRUPTED and self._latencies and not self.windows:
                self.windows.append(self._window(self._clock(), {}))
            self.verdict, self.error = verdict, error
            self.over.set()

    def _add(self, latency: float | None, error: str = "") -> None:
        with self._lock:
            if latency is None:
                self.failed += 1
                self.first_error = self.first_error or error
            else:
                self.answered += 1
            if self.over.is_set():
                return
            self._ended += 1
            if latency is not None:
                self._latencies.append(latency)
            now = self._clock()
            if now >= self._begin + self.settings.window_s and self._ended >= self._least:
                self._close(now)

    def _close(self, now: float) -> None:
        try:
            counters = self.target.counters()
            if not self._latencies:
                fix = "send one such request by hand; see the server's log"
                raise GepipeError(f"every request fails: {self.first_error}", fix=fix)
        except BaseException as error:
            self.error = error
            self.over.set()
            return
        if self._warm:
            self.windows.append(self._window(now, counters))
        self._warm = True
        if stable(self.windows, self.settings.stability):
            self.verdict = STABLE
        elif len(self.windows) >= self.settings.max_windows:
            self.verdict = UNSTABLE
        if self.verdict:
            self.over.set()
        self._open(now, counters)

    def _window(self, now: float, counters: Counts) -> Window:
        cpu_s = time.process_time() - self._cpu
        return Window(now - self._begin, self._latencies, self.target.rows, cpu_s, self._counters, counters)

    def _open(self, now: float, counters: Counts) -> None:
        self._begin = now
        self._cpu = time.process_time()
        self._counters = counters
        self._latencies: list[float] = []
        self._ended = 0
