"""Measured: the sections that show what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..bench.measure import STABLE
from .content import Content
from .html import Cell, Column, Html, element, joined, table
from .plots import Line, bar, line_plot, number
from .timeline import first_slices, lanes_of, legend, timeline

if TYPE_CHECKING:
    from ..bench import Report
    from ..profile import Stats
    from ..profile.stats import Row


def benchmark(content: Content) -> Html:
    """Throughput and latency at each number of clients, and where the time went."""
    parts: list[Cell] = []
    if content.bench is not None and content.bench.levels:
        parts += [_levels(content.bench), _plots(content.bench)]
    if content.counts is not None:
        parts += [element("h3", "Where the time goes"), _stats(content, content.counts)]
    return joined(parts)


def _levels(report: Report) -> Html:
    settings = report.settings
    columns = (
        Column("clients", "number"),
        Column("samples/s", "number"),
        *(
            Column(f"{name} ms", "number" if name in ("p50", "p99") else "number spare")
            for name in ("mean", "p50", "p90", "p95", "p99")
        ),
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
        f"of {settings.window_s:g} s agree within {settings.stability:.0%}. Of 100 requests 50 took no longer than "
        "p50, 99 no longer than p99."
    )
    return table(columns, lines, caption)


def _plots(report: Report) -> Html:
    levels = report.levels
    if len(levels) < 2:
        return Html("")
    counts = [level.concurrency for level in levels]
    hollow = frozenset(index for index, level in enumerate(levels) if level.verdict != STABLE)
    rates = [level.window.infer_per_sec for level in levels]
    p50, p99 = ([getattr(level.window.latency_us, name) / 1e3 for level in levels] for name in ("p50", "p99"))
    rate = line_plot("Throughput", "clients", "samples a second", counts, [Line("", "a", rates, hollow)])
    lines = [Line("p50", "a", p50, hollow), Line("p99", "b", p99, hollow)]
    latency = line_plot("Latency", "clients", "latency in ms", counts, lines)
    note = element("p", "A hollow point was not stable.", "lead") if hollow else ""
    return joined((Html(f'<div class="plots">{rate}{latency}</div>'), note))


def _stats(content: Content, stats: Stats) -> Html:
    columns = (
        Column("step"),
        Column("op", "spare"),
        Column("calls", "number spare"),
        *(Column(f"{name} ms", "number" if name == "mean" else "number spare") for name in ("mean", "p50", "p90")),
        Column("share of the work"),
    )
    above = "; those above are of the last three windows alone" if content.bench is not None else ""
    caption = (
        f"Of {content.counted}{above}. A step of the host is called once a sample, a device stage once a run; what "
        "only waits has no share."
    )
    return table(columns, _stat_rows(stats), caption)


def _stat_rows(stats: Stats) -> Iterator[tuple[Cell, ...]]:
    """Those of no stage come at the begin, and at the end."""
    stage: str | None = None
    for row in stats.rows:
        if row.stage != stage:
            yield (row.stage or ("the whole request" if stage is None else "after the stages"),)
            stage = row.stage
        share = "" if row.share is None else Html(f"{bar(row.share / 100, _kind(row))}{row.share:.1f} %")
        times = (f"{time:.3f}" for time in (row.mean_ms, row.p50_ms, row.p90_ms))
        yield (row.node, row.op, f"{row.calls:,}", *times, share)


def _kind(row: Row) -> str:
    """As the timeline calls it."""
    return "host" if row.op else "device" if row.node == "run" else "copy"


def trace(content: Content) -> Html:
    """The lanes of a trace."""
    lanes = lanes_of(content.trace) if content.trace is not None else []
    if not lanes:
        return Html("")
    shown, is_part = first_slices(lanes)
    count = sum(len(lane.slices) for lane in shown)
    notes = []
    if content.traced:
        notes.append(f"From {content.traced}.")
    if is_part:
        notes.append(f"The first {number(count)} slices are shown; the whole is for ui.perfetto.dev.")
    means = "Where the time goes" if content.counts else "The pipeline"
    notes.append(f"A slice is one call, so it may be shorter or longer than the mean under “{means}”.")
    return joined((legend(shown), timeline(shown), element("p", " ".join(notes), "lead")))
