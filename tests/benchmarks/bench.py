"""Bench: what a suite measures with, and what it leaves for the page."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claims import CLAIMS

Measure = Callable[[], float]

_SPAN_S = 0.05  # of one measurement of a latency, so that the clock and the caller's noise do not count
_RATE_SPAN_S = 1.5
_ROUNDS = 7


@dataclass(frozen=True)
class Turns:
    """What each candidate took, round by round; all of them once in each round."""

    values: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.values[name])

    def ratio(self, name: str, other: str) -> float:
        """The median of the rounds' ratios: a slow spell of the machine meets both."""
        return statistics.median(a / b for a, b in zip(self.values[name], self.values[other]))

    def best(self, *names: str) -> str:
        return max(names, key=self.median)


class Bench:
    """One test's measurements: candidates in turn, then claims, tables and plots of them.

    quick: only prove that everything runs; figures mean nothing and are not kept.
    """

    def __init__(self, fixture: Any) -> None:
        self._fixture = fixture
        self.quick: bool = fixture.disabled

    def in_turn(self, candidates: Mapping[str, Measure], rounds: int = _ROUNDS) -> Turns:
        """Every candidate once a round (A B A B), after a round for warming up."""
        values: dict[str, list[float]] = {name: [] for name in candidates}

        def turn() -> None:
            for name, measure in candidates.items():
                values[name].append(measure())

        self._fixture.pedantic(turn, rounds=rounds, warmup_rounds=0 if self.quick else 1)
        skip = len(values[next(iter(values))]) - 1 if self.quick else 1
        return Turns({name: measured[skip:] for name, measured in values.items()})

    def latency_us(self, call: Callable[[], object]) -> Measure:
        """Microseconds a call, one after the other."""
        count = 1 if self.quick else _calls_in(call, _SPAN_S)

        def measure() -> float:
            start = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - start) / count * 1e6

        return measure

    def rate(self, run: Callable[[int], object], span_s: float = _RATE_SPAN_S) -> Measure:
        """Samples a second; `run(n)` handles n samples, in whatever way."""
        count = 4

        def measure() -> float:
            nonlocal count
            while True:
                start = time.perf_counter()
                run(count)
                taken = time.perf_counter() - start
                if self.quick or taken > span_s / 2:
                    break
                count = max(count + 1, int(count * min(10.0, span_s / max(taken, 1e-6))))
            return count / taken

        return measure

    def claim(self, id: str, figure: float) -> None:
        assert id in CLAIMS, id
        self._leave("claims", {"id": id, "figure": figure})

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self._leave("tables", {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]})

    def turns_table(self, title: str, turns: Turns, unit: str, reference: str) -> None:
        """A row a candidate: its median, and how the reference compares with it."""
        rows: list[list[Any]] = [
            [name, turns.median(name), min(values), max(values), turns.ratio(reference, name)]
            for name, values in turns.values.items()
        ]
        self.table(title, ["", unit, "from", "to", f"{reference}, of it"], rows)
        self.plot("bars", title, "", [row[0] for row in rows], {unit: [row[1] for row in rows]}, unit)

    def plot(
        self,
        kind: str,
        title: str,
        xlabel: str,
        x: Sequence[Any],
        series: Mapping[str, Sequence[float]],
        ylabel: str,
    ) -> None:
        """kind: "bars" or "lines"."""
        made = {"kind": kind, "title": title, "xlabel": xlabel, "x": list(x), "ylabel": ylabel}
        self._leave("plots", {**made, "series": {name: list(values) for name, values in series.items()}})

    def note(self, text: str) -> None:
        self._leave("notes", text)

    def _leave(self, kind: str, item: Any) -> None:
        self._fixture.extra_info.setdefault(kind, []).append(item)


def _calls_in(call: Callable[[], object], span_s: float) -> int:
    """How many calls take about that long."""
    call()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - start
        if taken > span_s / 4:
            return max(1, round(count * span_s / taken))
        count *= 4
