"""What tune found: as a document, and as tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..deployment import Deployment
from .choose import Case, Option
from .gears import pad_waste
from .memory import Memory
from .space import Point, Share
from .traffic import REPLAYED
from .tuned import Tuned, gear_sets

FORMAT = 1


@dataclass(frozen=True)
class Report:
    """A choice, and of what. pipeline, device: their names."""

    pipeline: str
    device: str
    case: Case
    tuned: Tuned
    memory: Memory
    limit_us: float | None
    deployment: Deployment

    @property
    def share_name(self) -> str:
        return "threads" if self.case.manners.on_host else "cores"

    def memory_of(self, option: Option) -> dict[str, int]:
        """Bytes: weights as they are held on this device's kind, and buffers."""
        streams, gears = option.point.streams, option.gears
        copies = self.memory.weights if self.case.manners.on_host else self.memory.weights_on_npu(streams, len(gears))
        return {"weights": copies, "buffers": self.memory.buffers(streams, gears[-1])}


def document(report: Report) -> dict[str, Any]:
    """All of it, for programs."""
    tuned, case = report.tuned, report.case
    chosen = tuned.chosen
    return {
        "format": FORMAT,
        "pipeline": report.pipeline,
        "device": report.device,
        "traffic": case.traffic.source if case.traffic else None,
        "limit_us": report.limit_us,
        "candidates": tuned.candidates,
        "tried": [{**_point(report, point), **vars(seen)} for point, seen in tuned.tried.items()],
        "options": [_option(report, option) for option in tuned.options],
        "chosen": _option(report, chosen),
        "steps": [
            {"gear": gear, "step_us": step_us, "measured": gear not in tuned.expected}
            for gear, step_us in tuned.steps_us.items()
        ],
        "gear_sets": [{"gears": gears, "pad_waste": waste} for gears, waste in _sets(report).items()],
        "deployment": json.loads(report.deployment.to_json()),
    }


def table(report: Report) -> RenderableType:
    """Within 100 columns."""
    tuned = report.tuned
    tried = len(tuned.tried)
    goal = f"p99 within {report.limit_us / 1e3:g} ms" if report.limit_us else "the most samples a second"
    head = (
        f"{report.pipeline} on {report.device}, for {goal}; traffic: {_traffic(report)}\n"
        f"{tried} of {tuned.candidates} candidates measured ({tried / tuned.candidates:.0%}); "
        "device stages only: what the host does to a sample comes on top"
    )
    tables = (_options_table(report), Text(), _gears_table(report), Text())
    return Group(Text(head), Text(), *tables, *_notes(report))


def _traffic(report: Report) -> str:
    traffic = report.case.traffic
    if traffic is None:
        return "unknown, so every batch is full"
    count = sum(traffic.histogram.values())
    busiest = f", the busiest {REPLAYED:,} in a row" if len(traffic.arrivals) > REPLAYED else ""
    return f"{traffic.source}, {count:,} request{'s' if count != 1 else ''}{busiest}"


def _options_table(report: Report) -> Table:
    numbers = ("samples/s", "p99 ms", "streams", report.share_name, "delay us", "weights MB", "buffers MB")
    grid = _grid("", *numbers, "gears")
    chosen = report.tuned.chosen
    others = [option for option in report.tuned.options if option != chosen]
    for option in sorted([*others, chosen], key=lambda option: -option.per_sec):
        memory = report.memory_of(option)
        grid.add_row(
            "*" if option == chosen else "",
            f"{option.per_sec:.1f}",
            f"{option.p99_us / 1e3:.2f}",
            str(option.point.streams),
            _share(option.point.share),
            str(option.max_delay_us),
            *(f"{nbytes / 1e6:.1f}" for nbytes in memory.values()),
            ",".join(map(str, option.gears)),
        )
    return grid


def _gears_table(report: Report) -> Table:
    grid = _grid("", "padding", "gears that pad least; the choice by the time of its steps")
    for gears, waste in _sets(report).items():
        grid.add_row("*" if gears == report.tuned.chosen.gears else "", f"{waste:.1%}", ",".join(map(str, gears)))
    return grid


def _notes(report: Report) -> list[Text]:
    tuned = report.tuned
    streams = tuned.chosen.point.streams
    steps = ", ".join(
        f"{gear}: {step_us:,.0f} us{' (expected)' if gear in tuned.expected else ''}"
        for gear, step_us in tuned.steps_us.items()
    )
    lines = [f"a step of each gear, {streams} stream{'s' if streams > 1 else ''} busy: {steps}"]
    if report.case.manners.on_host:
        lines.append("weights: once, whatever the streams; npu_ge has a copy for each stream, where there are gears")
    else:
        lines.append("weights: a copy for each stream, as npu_ge holds them where there are gears")
    return [Text(line, style="yellow") for line in lines]


def _sets(report: Report) -> dict[tuple[int, ...], float]:
    return gear_sets(report.case, report.tuned.chosen)


def _point(report: Report, point: Point) -> dict[str, Any]:
    return {"gear": point.gear, "streams": point.streams, report.share_name: point.share}


def _option(report: Report, option: Option) -> dict[str, Any]:
    return {
        "gears": option.gears,
        "streams": option.point.streams,
        report.share_name: option.point.share,
        "max_delay_us": option.max_delay_us,
        "per_sec": option.per_sec,
        "p99_us": option.p99_us,
        "pad_waste": pad_waste(option.batches, option.gears),
        "batches": {str(size): count for size, count in sorted(option.batches.items())},
        "memory": report.memory_of(option),
    }


def _share(share: Share) -> str:
    return "all" if share is None else str(share)


def _grid(*headings: str) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings[:-1]:
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column(headings[-1], overflow="fold")
    return grid
