"""ChromeTrace: slices, waits and counters as a file for ui.perfetto.dev and chrome://tracing.

Source: the Trace Event Format; phases X (a slice), b and e (a wait, which may overlap others), C (a counter), i (an
instant) and M (names). Times are microseconds from the start of the trace.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from ge_engine.whole_file import write_whole
from ops import WrongUse

MAX_EVENTS = 200_000  # about 70 MB of memory; the oldest go first
_PID = 1
_FIRST_THREAD = 1000  # lanes below are named by who records

Args = Mapping[str, Any]
Lane = tuple[int, str]  # a thread's identifier may come again under another name


class Event(NamedTuple):
    """lane: None for what belongs to the whole. begin, end: of perf_counter."""

    phase: str
    name: str
    lane: Lane | None
    begin: float
    end: float
    args: Args


class ChromeTrace:
    """What is recorded from now on, in bounded memory. All methods may be called from any thread.

    Errors: WrongUse for a file that cannot be written, at once rather than at the end.
    """

    def __init__(self, file: str | os.PathLike[str], title: str, max_events: int = MAX_EVENTS) -> None:
        self.file = Path(file)
        self._title = title
        self._events: deque[Event] = deque(maxlen=max_events)
        self._lock = threading.Lock()
        if (self.file.exists() and not self.file.is_file()) or not os.access(self.file.parent, os.W_OK):
            raise WrongUse(f"{self.file} cannot be written", fix="name a file in a folder that is there")
        self._begin = perf_counter()

    def slice(self, name: str, begin: float, end: float, args: Args, lane: Lane | None = None) -> None:
        """Something that took its time, on this thread's lane or on another; slices of a lane may only nest."""
        if lane is None:
            thread = threading.current_thread()
            lane = (thread.ident or 0, thread.name)
        self._add(Event("X", name, lane, begin, end, args))

    def wait(self, name: str, number: int, begin: float, end: float) -> None:
        """A wait of sample `number`, beside those of others."""
        self._add(Event("b", name, None, begin, end, {"sample": number}))

    def count(self, name: str, at: float, args: Args) -> None:
        """The value of a counter from now on."""
        self._add(Event("C", name, None, at, at, args))

    def instant(self, name: str, args: Args) -> None:
        """Something that happened just now."""
        now = perf_counter()
        self._add(Event("i", name, None, now, now, args))

    def write(self) -> None:
        """The file, all at once: it is never half there.

        Errors: WrongUse for a file that cannot be written.
        """
        text = json.dumps(self._document(), default=str)
        try:
            write_whole(self.file, text)
        except OSError as error:
            raise WrongUse(f"{self.file} cannot be written: {error.strerror}", fix="name another file") from error

    def _add(self, event: Event) -> None:
        if event.begin >= self._begin:  # what was under way before would stand alone, without what it is part of
            with self._lock:
                self._events.append(event)

    def _document(self) -> dict[str, Any]:
        with self._lock:
            events = sorted(self._events, key=lambda event: (event.begin, -event.end))
        cut = len(events) == self._events.maxlen
        lanes = {lane: _FIRST_THREAD + index for index, lane in enumerate(_lanes(events))}
        return {
            "traceEvents": [*self._names(lanes), *(line for event in events for line in self._lines(event, lanes))],
            "displayTimeUnit": "ms",
            "otherData": {"title": self._title, "oldest events dropped": cut},
        }

    def _names(self, lanes: Mapping[Lane, int]) -> Iterator[dict[str, Any]]:
        def meta(what: str, lane: int, **args: Any) -> dict[str, Any]:
            return {"ph": "M", "name": what, "pid": _PID, "tid": lane, "args": args}

        yield meta("process_name", 0, name=self._title)
        for (_, name), lane in lanes.items():
            yield meta("thread_name", lane, name=name)
            yield meta("thread_sort_index", lane, sort_index=lane)

    def _lines(self, event: Event, lanes: Mapping[Lane, int]) -> Iterator[dict[str, Any]]:
        line = {"ph": event.phase, "name": event.name, "pid": _PID, "ts": self._us(event.begin), "args": event.args}
        if event.phase == "X":
            duration = round(self._us(event.end) - self._us(event.begin), 3)
            yield {**line, "tid": lanes[event.lane or (0, "")], "dur": duration}
        elif event.phase == "b":
            line.update(cat=event.name, id=event.args["sample"], tid=0)
            yield line
            yield {**line, "ph": "e", "ts": self._us(event.end)}
        elif event.phase == "i":
            yield {**line, "tid": 0, "s": "p"}
        else:
            yield line

    def _us(self, time: float) -> float:
        """In whole nanoseconds, so that slices which touch do not overlap."""
        return round((time - self._begin) * 1e6, 3)


def stream_lane(index: int, device: str) -> Lane:
    """The lane of an execution queue."""
    return (-index - 1, f"stream {index} of {device}")


def _lanes(events: list[Event]) -> list[Lane]:
    """Streams first, by number, and of each what it does in the order in which it came; then threads by their names."""
    found = dict.fromkeys(event.lane for event in events if event.lane is not None)
    streams = sorted((lane for lane in found if lane[0] < 0), key=lambda lane: -lane[0])
    return [*streams, *sorted((lane for lane in found if lane[0] >= 0), key=_by_name)]


def _by_name(lane: Lane) -> list[str | int]:
    """worker-2 comes before worker-10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", lane[1])]
