"""Traffic: the requests to tune for, from a log of when they came, or a histogram of how many samples they hold."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from ops import WrongUse
from ops.near import nearest
from ops.spec import LARGEST

TIME_S, TIME, BATCH = "time_s", "time", "batch"
_DIGITS = len(str(LARGEST))
REPLAYED = 5000  # requests of a log: its busiest stretch


@dataclass(frozen=True)
class Arrival:
    """A request: when it came, and how many samples it holds."""

    time_s: float
    samples: int = 1


@dataclass(frozen=True)
class Traffic:
    """histogram: requests by their number of samples. arrivals: in order of time; empty where it is not known when."""

    source: str
    histogram: Mapping[int, int]
    arrivals: tuple[Arrival, ...] = ()

    def busiest(self, most: int = REPLAYED) -> tuple[Arrival, ...]:
        """So many requests in a row, which came within the shortest time."""
        if len(self.arrivals) <= most:
            return self.arrivals
        times = np.array([arrival.time_s for arrival in self.arrivals])
        first = int(np.argmin(times[most - 1 :] - times[: len(times) - most + 1]))
        return self.arrivals[first : first + most]


def parse_histogram(text: str) -> Traffic:
    """ "1:500,2:120": 500 requests of one sample, 120 of two.

    Errors: WrongUse.

    >>> parse_histogram("1:500, 2:120").histogram
    {1: 500, 2: 120}
    """
    histogram: dict[int, int] = {}
    for part in text.split(","):
        size, colon, count = (word.strip() for word in part.partition(":"))
        if not (colon and _is_count(size) and _is_count(count)):
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
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            column = _time_column(path, reader.fieldnames or ())
            arrivals = [_arrival(f"{path}:{reader.line_num}", row, column) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongUse(f"{path} cannot be read: {error}", fix="name a CSV file, in UTF-8") from error
    if not arrivals:
        raise WrongUse("the log holds no request", where=str(path), fix="below the heading, write a line a request")
    arrivals.sort(key=lambda arrival: arrival.time_s)
    return Traffic(str(path), dict(sorted(Counter(a.samples for a in arrivals).items())), tuple(arrivals))


def _time_column(path: Path, names: object) -> str:
    known = [str(name) for name in names] if isinstance(names, (list, tuple)) else []
    found = [name for name in (TIME_S, TIME) if name in known]
    if len(found) == 1:
        return found[0]
    where = f"{path}:1"
    if found:
        raise WrongUse(f"the heading has both {TIME_S} and {TIME}", where=where, fix="leave one of them out")
    miss = nearest(TIME_S, known)
    fix = f"begin the file with {TIME_S},{BATCH} or {TIME},{BATCH}; {BATCH} may be left out"
    raise WrongUse(
        f"the heading has no column {TIME_S} or {TIME}, but {', '.join(known) or 'nothing'}",
        where=where,
        fix=f"did you mean '{miss}' to be it? {fix}" if miss else fix,
    )


def _arrival(where: str, row: Mapping[str | None, str | None], column: str) -> Arrival:
    text = (row[column] or "").strip()
    time_s = _seconds(text) if column == TIME_S else _moment(text)
    if time_s is None:
        form = "a number of seconds, as 12.5" if column == TIME_S else "ISO 8601, as 2026-03-01T12:00:00.250Z"
        raise WrongUse(f"{column} is {text!r}", where=where, fix=f"write {form}")
    samples = (row[BATCH] or "").strip() if BATCH in row else "1"
    if not _is_count(samples):
        fix = f"write how many samples the request holds, a whole number from 1 to {LARGEST}"
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


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and 1 <= int(text) <= LARGEST
