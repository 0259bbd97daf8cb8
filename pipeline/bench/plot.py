"""A picture of a bench: throughput and latency against the number of clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ops import WrongUse

from .measure import STABLE
from .report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_TICKS = 16
_SIZE = (7.0, 6.0)  # inches


def figure_type() -> type[Figure]:
    """matplotlib's, which is not imported for anything else. Errors: WrongUse when it is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise WrongUse("--plot needs matplotlib", fix="pip install matplotlib") from error
    return Figure


def plot(report: Report, file: Path) -> None:
    """Write it as PNG. What was not stable is hollow."""
    figure = figure_type()(figsize=_SIZE, layout="constrained")
    throughput, latency = figure.subplots(2, 1, sharex=True)
    clients = [level.concurrency for level in report.levels]
    hollow = [index for index, level in enumerate(report.levels) if level.verdict != STABLE]
    lines = (
        (throughput, "infer/s", [level.window.infer_per_sec for level in report.levels], "tab:blue"),
        (latency, "p50", [level.window.latency_us.p50 / 1e3 for level in report.levels], "tab:green"),
        (latency, "p99", [level.window.latency_us.p99 / 1e3 for level in report.levels], "tab:red"),
    )
    for axes, name, values, colour in lines:
        axes.plot(clients, values, color=colour, marker="o", label=name)
        bare = [values[index] for index in hollow]
        axes.plot([clients[index] for index in hollow], bare, "o", color=colour, markerfacecolor="white")
    throughput.set_title(f"{report.target}, batch {report.rows}" + (" (hollow: not stable)" if hollow else ""))
    throughput.set_ylabel("infer/s")
    latency.set_ylabel("latency in ms")
    latency.set_xlabel("clients")
    if len(clients) <= _MOST_TICKS:
        latency.set_xticks(clients)
    latency.legend()
    for axes in (throughput, latency):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.savefig(file, format="png", dpi=120)
