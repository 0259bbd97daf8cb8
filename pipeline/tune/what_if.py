"""What if: `gepipe plan --what-if`, the answer of the timing model for a card that is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.text import Text

from ops import SpecError, WrongUse
from ops.near import near

from ..command import out, print_json
from ..deployment import Deployment
from ..plan import Plan
from .csv_rows import Row, cell, csv_rows
from .memory import Memory
from .timing import CN_CLIP, FITTED_ON, Cores, Prediction, Series, TimingModel, name_of

_STREAMS, _CORES, _RATE = "streams", "cores", "infer_per_sec"
_FIX = f'write "{_STREAMS}=8,{_CORES}=12|10"; {_CORES} may be left out'


Question = Annotated[
    Optional[str],
    typer.Option(
        "--what-if",
        metavar="SETTINGS",
        help='Ask a timing model of an NPU that is not there, as "streams=8,cores=12|10"; PIPELINE may be left out.',
    ),
]
Measurements = Annotated[
    Optional[Path],
    typer.Option(
        "--what-if-from",
        metavar="FILE",
        help="Fit that model on these, as CSV: streams, cores, infer_per_sec. By default on a published series.",
    ),
]


@dataclass(frozen=True)
class WhatIf:
    """A question, and the model that answers it."""

    streams: int
    cores: Cores
    model: TimingModel

    @classmethod
    def parse(cls, text: str, measured: Path | None = None) -> WhatIf:
        """ "streams=8,cores=12|10". measured: a series of one's own; else the published one.

        Errors: WrongUse.
        """
        found: dict[str, str] = {}
        for part in text.split(","):
            name, equals, value = (word.strip() for word in part.partition("="))
            if not equals or name not in (_STREAMS, _CORES) or name in found:
                fix = near(name, (_STREAMS, _CORES)) if equals and name not in (_STREAMS, _CORES) else _FIX
                raise WrongUse(f"--what-if {text!r}: {part.strip()!r} is no question", fix=fix)
            found[name] = value
        streams, cores = found.get(_STREAMS, "1"), found.get(_CORES)
        settings = _settings(streams, cores, f"--what-if {text!r}")
        model = TimingModel.fit(CN_CLIP, FITTED_ON) if measured is None else TimingModel.fit(read_series(measured))
        return cls(settings.streams, cores, model)

    @property
    def prediction(self) -> Prediction:
        """Errors: WrongUse for cores of which the model knows nothing."""
        return self.model.predict(self.streams, self.cores)

    @property
    def of_one_stream(self) -> float:
        """How many times what one stream does with the same cores."""
        return self.prediction.infer_per_sec / self.model.predict(1, self.cores).infer_per_sec

    def as_dict(self) -> dict[str, Any]:
        answer = self.prediction
        errors = {str(streams): error for streams, error in self.model.errors(self.cores).items()}
        fitted_on = {"source": self.model.series.source, "streams": self.model.fitted_on[self.cores]}
        asked = {"streams": self.streams, "cores": self.cores}
        more = {"of_one_stream": self.of_one_stream, "fitted_on": fitted_on, "errors": errors}
        return {"from": "a timing model, not a measurement", **asked, **answer._asdict(), **more}

    def __str__(self) -> str:
        answer, line = self.prediction, self.model.lines[self.cores]
        fitted = self.model.fitted_on[self.cores]
        errors = self.model.errors(self.cores)
        which = "which it was fitted on" if set(errors) <= set(fitted) else "which it was not fitted on"
        lines = [
            f"MODEL, not a measurement: {_count(self.streams)}, {name_of(self.cores)}",
            f"  {answer.infer_per_sec:,.0f} infer/s, {answer.latency_us / 1e3:.2f} ms each; "
            f"{self.of_one_stream:.2f} times one stream",
            f"  a round of n streams takes {line.fixed_us:,.0f} us + n * {line.stream_us:,.0f} us",
            f"fitted on: {self.model.series.source}; streams {_list(fitted)}",
            f"off by {min(errors.values()):+.1%} to {max(errors.values()):+.1%} on streams {_list(errors)}, {which}",
        ]
        if answer.outside:
            lines.append(f"{_count(self.streams)} is outside of what it was fitted on")
        return "\n".join([*lines, "another model on another card has other times: gepipe tune measures yours"])


def asked(question: str | None, measurements: Path | None, target: str | None) -> WhatIf | None:
    """What the options ask. Errors: WrongUse, also when neither a question nor a pipeline is there."""
    if question is not None:
        return WhatIf.parse(question, measurements)
    if measurements is not None:
        raise WrongUse("--what-if-from answers no question", fix='ask one: --what-if "streams=8"')
    if target is None:
        raise WrongUse("no pipeline is named", fix="give graph.py; only --what-if needs none")
    return None


def answer(asked: WhatIf, compiled: Plan | None, as_json: bool) -> None:
    """Print it; with what a plan would take on the card, where there is one."""
    memory = _memory(compiled, asked.streams) if compiled else {}
    if as_json:
        print_json({**asked.as_dict(), **({"memory": memory} if memory else {})})
        return
    out.print(Text(str(asked)), soft_wrap=True)
    if compiled:
        sizes = ", ".join(f"{what} {nbytes / 1e6:,.1f} MB" for what, nbytes in memory.items())
        out.print(Text(f"'{compiled.graph.name}' would take, served by npu_ge on one card: {sizes}"), soft_wrap=True)


def read_series(path: Path) -> Series:
    """A CSV file with the columns streams and infer_per_sec, and perhaps cores ("cube|vector"; empty: no lock).

    Errors: WrongUse naming the line.
    """
    per_sec: dict[Cores, dict[int, float]] = {}
    for where, row in csv_rows(path, _check_columns):
        streams, cores, rate = _measurement(where, row)
        if streams in per_sec.setdefault(cores, {}):
            raise WrongUse(f"{_count(streams)} with {name_of(cores)} is there twice", where=where, fix="leave one")
        per_sec[cores][streams] = rate
    return Series(str(path), per_sec)


def _check_columns(names: Sequence[str], where: str) -> None:
    missing = {_STREAMS, _RATE}.difference(names)
    if missing:
        fix = f"begin the file with {_STREAMS},{_CORES},{_RATE}; {_CORES} may be left out"
        raise WrongUse(f"the heading has no column {min(missing)}", where=where, fix=fix)


def _measurement(where: str, row: Row) -> tuple[int, Cores, float]:
    cores = cell(row, _CORES) or None
    settings = _settings(cell(row, _STREAMS), cores, where)
    text = cell(row, _RATE)
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise WrongUse(f"{_RATE} is {text!r}", where=where, fix="write inferences a second, a number more than 0")
    return settings.streams, cores, rate


def _settings(streams: str, cores: Cores, where: str) -> Deployment:
    """Checked as those of a deployment are."""
    try:
        return Deployment.of(streams=int(streams) if streams.isdecimal() else streams, cores=cores)
    except SpecError as error:
        raise WrongUse(error.message, where=where, fix=error.fix) from error


def _count(streams: int) -> str:
    return f"{streams} stream{'s' if streams != 1 else ''}"


def _list(streams: Sequence[int] | Mapping[int, float]) -> str:
    return ", ".join(map(str, streams))


def _memory(compiled: Plan, streams: int) -> dict[str, int]:
    memory = Memory.of(compiled)
    gears = {gear.batch for stage in compiled.built.values() for gear in stage.gears}
    counts = {name: len(stage.gears) for name, stage in compiled.built.items()}
    return {
        "weights": memory.weights_on_npu(streams, counts),
        "inputs and outputs": streams * max(gears, default=1) * memory.sample,
    }
