"""Measured: the sections that show what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..bench.measure import STABLE
from .content import Content
from .html import Cell, Column, Html, element, joined, table, wide
from .plots import Line, bar, line_plot, number
from .timeline import first_slices, lanes_of, legend, timeline

if TYPE_CHECKING:
    from ..bench import Report
    from ..profile import Stats


def benchmark(content: Content) -> Html:
    """Throughput and latency at each number of clients, and where the time went."""
    parts: list[Cell] = []
    if content.bench is not None and content.bench.levels:
        parts += [_levels(content.bench), _plots(content.bench)]
    if content.stats is not None and content.stats.samples:
        parts += [element("h3", "Where the time goes"), _stats(content.stats)]
    return joined(parts)


def _levels(report: Report) -> Html:
    settings = report.settings
    columns = (
        Column("clients", "number"),
        Column("samples a second", "number"),
        *(Column(f"{name} ms", "number") for name in ("mean", "p50", "p90", "p95", "p99")),
        Column("failed", "number"),
        Column("verdict"),
    )
    lines = (
        (
            str(level.concurrency),
            f"{level.window.infer_per_sec:,.1f}",
            *(f"{value / 1e3:,.2f}" for value in level.window.latency_us),
            str(level.failed),
            element("span", level.verdict, f"tag {level.verdict}"),
        )
        for level in report.levels
    )
    caption = (
        f"On {report.where}; {report.rows} sample{'s' if report.rows > 1 else ''} in a request. Stable: three windows "
        f"of {settings.window_s:g} s agree within {settings.stability:.0%}."
    )
    return table(columns, lines, caption)


def _plots(report: Report) -> Html:
    levels = report.levels
    if len(levels) < 2:
        return Html("")
    clients = [level.concurrency for level in levels]
    hollow = frozenset(index for index, level in enumerate(levels) if level.verdict != STABLE)
    rates = [level.window.infer_per_sec for level in levels]
    p50, p99 = ([getattr(level.window.latency_us, name) / 1e3 for level in levels] for name in ("p50", "p99"))
    rate = line_plot("Throughput", "clients", "samples a second", clients, [Line("", "a", rates, hollow)])
    lines = [Line("p50", "a", p50, hollow), Line("p99", "b", p99, hollow)]
    latency = line_plot("Latency", "clients", "latency in ms", clients, lines)
    note = element("p", "A hollow point was not stable.", "lead") if hollow else ""
    return joined((Html(f'<div class="plots">{rate}{latency}</div>'), note))


def _stats(stats: Stats) -> Html:
    columns = (
        Column("step"),
        Column("op"),
        Column("calls", "number"),
        *(Column(f"{name} ms", "number") for name in ("mean", "p50", "p90")),
        Column("share of the work"),
    )
    caption = (
        f"{stats.samples:,} samples. A step of the host is called once a sample, a device stage once a batch; what "
        "only waits has no share."
    )
    return table(columns, _stat_rows(stats), caption)


def _stat_rows(stats: Stats) -> Iterator[tuple[Cell, ...]]:
    stage: str | None = None
    for row in stats.rows:
        if row.stage != stage:
            stage = row.stage
            yield (stage or "of a request",)
        share = "" if row.share is None else Html(f"{bar(row.share / 100)}{row.share:.1f} %")
        times = (f"{time:.3f}" for time in (row.mean_ms, row.p50_ms, row.p90_ms))
        yield (row.node, row.op, f"{row.calls:,}", *times, share)


def trace(content: Content) -> Html:
    """The lanes of a trace."""
    lanes = lanes_of(content.trace) if content.trace is not None else []
    if not lanes:
        return Html("")
    shown, is_part = first_slices(lanes)
    count = sum(len(lane.slices) for lane in shown)
    note = (
        element("p", f"The first {number(count)} slices are shown; the whole is for ui.perfetto.dev.")
        if is_part
        else ""
    )
    return joined((wide(Html(timeline(shown, "Trace"))), Html(legend(shown)), note))
