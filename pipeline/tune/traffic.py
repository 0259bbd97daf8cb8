"""Traffic: the requests to tune for, from a log of when they came, or a histogram of how many samples they hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ops import WrongUse
from ops.near import nearest
from ops.spec import LARGEST

from .csv_rows import Row, cell, csv_rows

TIME_S, TIME, BATCH = "time_s", "time", "batch"
_DIGITS = len(str(LARGEST))
MOST_SAMPLES = 10_000  # of a request in a log: each of its samples is replayed
_REPLAYED, _REPLAYED_SAMPLES = 5_000, 20_000  # of a log: its busiest stretch


class Arrival(NamedTuple):
    """A request: when it came, and how many samples it holds."""

    time_s: float
    samples: int = 1


@dataclass(frozen=True)
class Traffic:
    """histogram: requests by their number of samples. arrivals: in order of time; empty where it is not known when."""

    source: str
    histogram: Mapping[int, int]
    arrivals: tuple[Arrival, ...] = ()

    @cached_property
    def busiest(self) -> tuple[Arrival, ...]:
        """What is replayed."""
        return busiest(self.arrivals)


def busiest(
    arrivals: tuple[Arrival, ...], most: int = _REPLAYED, most_samples: int = _REPLAYED_SAMPLES
) -> tuple[Arrival, ...]:
    """So many requests in a row, which came within the shortest time; fewer where they hold many samples."""
    if len(arrivals) > most:
        times = np.array([arrival.time_s for arrival in arrivals])
        first = int(np.argmin(times[most - 1 :] - times[: len(times) - most + 1]))
        arrivals = arrivals[first : first + most]
    samples = np.cumsum([arrival.samples for arrival in arrivals])
    return arrivals[: max(1, int(np.searchsorted(samples, most_samples, side="right")))]


def parse_histogram(text: str) -> Traffic:
    """ "1:500,2:120": 500 requests of one sample, 120 of two.

    Errors: WrongUse.

    >>> parse_histogram("1:500, 2:120").histogram
    {1: 500, 2: 120}
    """
    histogram: dict[int, int] = {}
    for part in text.split(","):
        size, colon, count = (word.strip() for word in part.partition(":"))
        if not (colon and is_count(size) and is_count(count)):
            fix = 'write SAMPLES:REQUESTS,..., as "1:500,2:120": whole numbers of at least 1'
            raise WrongUse(f"histogram {text!r}: {part.strip()!r} is no size and count", fix=fix)
        if int(size) in histogram:
            raise WrongUse(f"histogram {text!r} has the size {int(size)} twice", fix="name each size once")
        histogram[int(size)] = int(count)
    return Traffic("a histogram", histogram)


def read_log(path: Path) -> Traffic:
    """A CSV file with a heading and a line for each request, in any order; other columns are left alone.

    time_s: when it came, in seconds since any moment; or time: the same as ISO 8601 (UTC where it names no zone)
    batch:  how many samples it holds; 1 where there is no such column

    Errors: WrongUse naming the line.
    """
    arrivals = [_arrival(where, row) for where, row in csv_rows(path, _check_columns)]
    arrivals.sort(key=lambda arrival: arrival.time_s)
    return Traffic(str(path), dict(sorted(Counter(a.samples for a in arrivals).items())), tuple(arrivals))


def _check_columns(names: Sequence[str], where: str) -> None:
    for name in (TIME_S, TIME, BATCH):
        if names.count(name) > 1:
            raise WrongUse(f"the heading has {name} twice", where=where, fix="leave one of them out")
    if TIME_S in names and TIME in names:
        raise WrongUse(f"the heading has both {TIME_S} and {TIME}", where=where, fix="leave one of them out")
    if TIME_S not in names and TIME not in names:
        miss = nearest(TIME_S, names)
        fix = f"begin the file with {TIME_S},{BATCH} or {TIME},{BATCH}; {BATCH} may be left out"
        raise WrongUse(
            f"the heading has no column {TIME_S} or {TIME}, but {', '.join(names) or 'nothing'}",
            where=where,
            fix=f"did you mean '{miss}' to be it? {fix}" if miss else fix,
        )


def _arrival(where: str, row: Row) -> Arrival:
    column = TIME_S if TIME_S in row else TIME
    text = cell(row, column)
    time_s = _seconds(text) if column == TIME_S else _moment(text)
    if time_s is None:
        form = "a number of seconds, as 12.5" if column == TIME_S else "ISO 8601, as 2026-03-01T12:00:00.250Z"
        raise WrongUse(f"{column} is {text!r}", where=where, fix=f"write {form}")
    samples = cell(row, BATCH) if BATCH in row else "1"
    if not is_count(samples) or int(samples) > MOST_SAMPLES:
        fix = f"write how many samples the request holds, a whole number from 1 to {MOST_SAMPLES:,}"
        raise WrongUse(f"{BATCH} is {samples!r}", where=where, fix=fix)
    return Arrival(time_s, int(samples))


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def is_count(text: str) -> bool:
    """Whether it is a whole number of at least 1."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and 1 <= int(text) <= LARGEST
