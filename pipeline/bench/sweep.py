"""Sweep: one measurement after the other, at rising concurrency, and what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ops import WrongUse

from .measure import Settings, Target, Usage, measure
from .plot import figure_type, plot
from .report import Report, csv_text, document

_MOST_CLIENTS = 4096


def concurrencies(text: str) -> tuple[int, ...]:
    """Numbers of clients: "4", "1,4,16", or "FROM:TO:STEP" with TO included and a STEP of 1 by default.

    Errors: WrongUse.

    >>> concurrencies("1:16:4")
    (1, 5, 9, 13)
    """
    try:
        if ":" in text:
            first, last, *step = (int(word) for word in text.split(":"))
            found = tuple(range(first, last + 1, *step[:1])) if len(step) < 2 else ()
        else:
            found = tuple(int(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1 or max(found) > _MOST_CLIENTS:
        fix = f'write "4", "1,4,16" or "1:16:4", from 1 to {_MOST_CLIENTS}'
        raise WrongUse(f"{text!r} is no number of clients", fix=fix)
    return found


@dataclass(frozen=True)
class Files:
    """Where the results go, besides the terminal."""

    json: Path | None = None
    csv: Path | None = None
    plot: Path | None = None

    def check(self) -> None:
        """Before anything is measured. Errors: WrongUse for what could not be written then."""
        for file in (self.json, self.csv, self.plot):
            if file is not None and not file.absolute().parent.is_dir():
                raise WrongUse(f"{file.absolute().parent} is no folder", fix="make it, or name another")
        if self.plot is not None:
            figure_type()

    def write(self, report: Report) -> None:
        if self.json is not None:
            self.json.write_text(json.dumps(document(report), indent=1) + "\n", encoding="utf-8")
        if self.csv is not None:
            self.csv.write_text(csv_text(report), encoding="utf-8")
        if self.plot is not None:
            plot(report, self.plot)


def sweep(
    target: Target,
    where: str,
    wanted: Sequence[int],
    settings: Settings,
    done: Callable[[Report], None],
    *,
    usage: Usage | None = None,
    counted_by: str = "the server",
    say: Callable[[str], None] = lambda text: None,
) -> Report:
    """Measure at each concurrency. Whatever ends it, `done` is given what there is, if there is anything.

    Errors: those of `measure`.
    """
    report = Report(target.name, where, target.rows, settings, [], counted_by)
    try:
        for count in wanted:
            say(f"measuring with {count} client{'s' if count > 1 else ''}; Ctrl-C ends it and keeps what there is")
            report.levels.append(measure(target, count, settings, usage=usage))
            if report.interrupted:
                break
    finally:
        if report.levels:
            done(report)
    return report
