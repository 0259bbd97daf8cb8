"""What a bench found: as a document, as rows, as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..counters import Counters
from .measure import INTERRUPTED, UNSTABLE, Level, Settings
from .window import Latency

FORMAT = 1
_LEAST_WORDS = 8  # columns, for "unstable"
_SPLIT = ("queue", "compute_input", "compute_infer", "compute_output")


@dataclass(frozen=True)
class Report:
    """Levels, and of what. where: as "127.0.0.1:8001 (grpc), Triton 2.43.0". counted_by: whose counters they are."""

    target: str
    where: str
    rows: int
    settings: Settings
    levels: list[Level]
    counted_by: str = "the server"

    @property
    def interrupted(self) -> bool:
        return any(level.verdict == INTERRUPTED for level in self.levels)

    @property
    def failed(self) -> int:
        """Requests that failed."""
        return sum(level.failed for level in self.levels)


def document(report: Report) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "format": FORMAT,
        "target": report.target,
        "where": report.where,
        "batch": report.rows,
        "settings": vars(report.settings),
        "levels": [_level(level, report.target) for level in report.levels],
    }


def _level(level: Level, target: str) -> dict[str, Any]:
    window = level.window
    return {
        "concurrency": level.concurrency,
        "verdict": level.verdict,
        "windows": level.windows,
        "seconds": window.seconds,
        "requests": len(window.latencies),
        "infer_per_sec": window.infer_per_sec,
        "requests_per_sec": window.requests_per_sec,
        "latency_us": window.latency_us._asdict(),
        "client_cpu": _client_cpu(level),
        "answered": level.answered,
        "failed": level.failed,
        "first_error": level.first_error,
        "other_requests": level.others(target),
        "models": {name: _model(counters, window.seconds) for name, counters in window.counted.items()},
        "npu_percent": dict(level.npu),
    }


def _client_cpu(level: Level) -> float:
    """Cores that this process kept busy."""
    return level.window.cpu_s / level.window.seconds if level.window.seconds else 0.0


def _model(counters: Counters, seconds: float) -> dict[str, Any]:
    return {
        "requests": counters.succeeded,
        "failed": counters.failed,
        "inferences": counters.inferences,
        "executions": counters.executions,
        "request_us": counters.each_us(counters.request_ns),
        **{f"{part}_us": counters.each_us(getattr(counters, f"{part}_ns")) for part in _SPLIT},
        "mean_batch": counters.mean_batch,
        "batches": {str(size): count for size, count in counters.batches.items()},
        "instances": counters.instances,
        "busy": counters.busy(seconds),
    }


def csv_text(report: Report) -> str:
    """A line for each concurrency; a column is a path into the document, as latency_us.p50 or models.NAME.queue_us."""
    lines = [_flat(_level(level, report.target)) for level in report.levels]
    file = io.StringIO()
    columns = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def _flat(value: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, item in value.items():
        if name == "batches":
            flat[path + name] = " ".join(f"{size}:{count}" for size, count in item.items())
        elif isinstance(item, Mapping):
            flat |= _flat(item, f"{path}{name}.")
        else:
            flat[path + name] = item
    return flat


def table(report: Report) -> RenderableType:
    """Within 100 columns."""
    settings = report.settings
    busy = "the clients" if report.counted_by == "the server" else "this process"
    head = (
        f"{report.target} at {report.where}\n"
        f"batch {report.rows}; three windows of {settings.window_s:g} s that agree within {settings.stability:.0%}; "
        f"CPU: cores that {busy} kept busy"
    )
    parts: list[RenderableType] = [Text(head), Text(), _client_table(report)]
    if any(level.window.counted for level in report.levels):
        parts += [Text(f"\nwhere a request spends its time, as {report.counted_by} counts it:"), _model_table(report)]
    parts += [Text(line, style="yellow") for line in _notes(report)]
    return Group(*parts)


def _client_table(report: Report) -> Table:
    requests = ["req/s"] if report.rows > 1 else []
    grid = _grid("clients", "infer/s", *requests, *(f"{name} us" for name in Latency._fields), "CPU", words="")
    for level in report.levels:
        window = level.window
        grid.add_row(
            str(level.concurrency),
            f"{window.infer_per_sec:.1f}",
            *(f"{window.requests_per_sec:.1f}" for _ in requests),
            *(f"{value:.0f}" for value in window.latency_us),
            f"{_client_cpu(level):.2f}",
            level.verdict,
        )
    return grid


def _model_table(report: Report) -> Table:
    grid = _grid("clients", "queue us", "input us", "infer us", "output us", "busy", words="model, batches x size")
    for level in report.levels:
        for index, (name, counters) in enumerate(level.window.counted.items()):
            busy = counters.busy(level.window.seconds)
            sizes = " ".join(f"{count}x{size}" for size, count in counters.batches.items())
            grid.add_row(
                "" if index else str(level.concurrency),
                *(f"{counters.each_us(getattr(counters, f'{part}_ns')):.0f}" for part in _SPLIT),
                "" if busy is None else f"{busy:.0%}",
                Text(f"{name}  ").append(sizes if counters.instances else "", style="dim"),
            )
    return grid


def _grid(*numbers: str, words: str) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in numbers:
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column(words, overflow="fold", min_width=_LEAST_WORDS)
    return grid


def _notes(report: Report) -> list[str]:
    notes = []
    for level in report.levels:
        place = f"{level.concurrency} client{'s' if level.concurrency > 1 else ''}"
        if level.first_error:
            notes.append(f"{place}: {level.failed} failed, the first: {level.first_error}")
        if level.npu:
            chips = ", ".join(f"{chip} {percent:.0f} %" for chip, percent in level.npu.items())
            notes.append(f"{place}: AI cores busy: {chips}")
        if others := level.others(report.target):
            notes.append(f"{place}: {report.counted_by} answered {others} requests of others meanwhile")
    if any(level.verdict == UNSTABLE for level in report.levels):
        notes.append("unstable: no three windows agreed; try a longer --window-s, or a quieter machine")
    return ["", *notes] if notes else []
