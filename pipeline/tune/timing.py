"""The timing model: how long a round of n streams takes, fitted on a few measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ops import WrongUse

Cores = str | None  # "cube|vector" of the core lock; None: no lock


@dataclass(frozen=True)
class Series:
    """Measured inferences a second, by cores and number of streams, each stream with one request at a time.

    source: what was measured, and how.
    """

    source: str
    per_sec: Mapping[Cores, Mapping[int, float]]


class Line(NamedTuple):
    """A round of n streams takes fixed_us + stream_us * n: what goes side by side, and what each adds."""

    fixed_us: float
    stream_us: float

    def round_us(self, streams: int) -> float:
        return self.fixed_us + self.stream_us * streams


class Prediction(NamedTuple):
    """outside: the number of streams is beyond those that the model was fitted on."""

    infer_per_sec: float
    latency_us: float
    outside: bool


@dataclass(frozen=True)
class TimingModel:
    """A line for each core lock, and what it was fitted on.

    >>> model = TimingModel.fit(Series("a card", {None: {1: 250.0, 2: 400.0}}))
    >>> round(model.predict(3).infer_per_sec)
    500
    """

    series: Series
    fitted_on: Mapping[Cores, tuple[int, ...]]
    lines: Mapping[Cores, Line]

    @classmethod
    def fit(cls, series: Series, streams: Sequence[int] | None = None) -> TimingModel:
        """By least squares, on these numbers of streams, or on all.

        Errors: WrongUse for a series that is no such line.
        """
        used = {
            cores: {n: rate for n, rate in rates.items() if streams is None or n in streams}
            for cores, rates in series.per_sec.items()
        }
        lines = {cores: _line(series.source, cores, rates) for cores, rates in used.items()}
        return cls(series, {cores: tuple(sorted(rates)) for cores, rates in used.items()}, lines)

    def predict(self, streams: int, cores: Cores = None) -> Prediction:
        """Errors: WrongUse for cores that it was not fitted on."""
        if cores not in self.lines:
            known = ", ".join(map(name_of, self.lines))
            fix = "ask for one of these, or give measurements with those cores: --what-if-from FILE"
            raise WrongUse(f"the model knows nothing of {name_of(cores)}; it was fitted on {known}", fix=fix)
        latency_us = self.lines[cores].round_us(streams)
        fitted = self.fitted_on[cores]
        return Prediction(streams * 1e6 / latency_us, latency_us, not fitted[0] <= streams <= fitted[-1])

    def errors(self, cores: Cores) -> dict[int, float]:
        """Predicted / measured - 1, for each measurement that it was not fitted on; of all, where there is none."""
        rates = self.series.per_sec[cores]
        others = [n for n in rates if n not in self.fitted_on[cores]] or list(rates)
        return {n: self.predict(n, cores).infer_per_sec / rates[n] - 1 for n in sorted(others)}


def name_of(cores: Cores) -> str:
    """As people say it."""
    return f"cores {cores}" if cores else "no core lock"


def _line(source: str, cores: Cores, rates: Mapping[int, float]) -> Line:
    if len(rates) < 2:
        fix = "measure with two or more numbers of streams; 1, 2 and the most are a good choice"
        raise WrongUse(f"{source}: {name_of(cores)}: {len(rates)} number of streams, and a line needs two", fix=fix)
    rounds_us = [n * 1e6 / rate for n, rate in rates.items()]
    stream_us, fixed_us = map(float, np.polyfit(list(rates), rounds_us, 1))
    if stream_us < 0 or fixed_us < 0:
        raise WrongUse(
            f"{source}: {name_of(cores)}: a round of n streams would take {fixed_us:,.0f} us + n * {stream_us:,.0f} us",
            fix="neither can be negative: measure longer, on a card that nobody else uses",
        )
    return Line(fixed_us, stream_us)


# What others have published, to fit the model on where there is no card.
FITTED_ON = (1, 2, 8)  # streams; the other five show how far off the model is

CN_CLIP = Series(
    "the npu_ge backend's CN_CLIP example: image model, static, batch 1, a client a stream (perf_analyzer)",
    {
        None: dict(enumerate((232.5, 342.7, 416.1, 489.3, 542.8, 569.9, 605.4, 629.3), start=1)),
        "12|10": dict(enumerate((236.2, 425.4, 583.5, 696.4, 773.5, 813.6, 865.6, 850.2), start=1)),
    },
)
