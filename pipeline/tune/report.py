"""What tune found: as a document, and as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..deployment import Deployment
from ..triton.model_configs import MOST_GEARS
from .choose import ALL, Case, Option
from .gears import best_gears, pad_waste, split_at
from .memory import Memory
from .space import Point, Share
from .tuned import Tuned, by_model

FORMAT = 2
_UNSTEADY = 1.2  # times: more is not trusted
_GAIN = 1.03  # times as many samples a second: what is less is none


@dataclass(frozen=True)
class Report:
    """A choice, and of what. pipeline, device: their names. models: those of each device stage."""

    pipeline: str
    device: str
    tuned: Tuned
    memory: Memory
    limit_us: float | None
    deployment: Deployment
    models: Mapping[str, Sequence[str]]

    @property
    def case(self) -> Case:
        return self.tuned.case

    @property
    def share_name(self) -> str:
        return "threads" if self.case.manners.on_host else "cores"

    def memory_of(self, option: Option) -> dict[str, int]:
        """Bytes: weights as they are held on this device's kind, and buffers."""
        streams = option.point.streams
        counts = {name: len(option.gears.get(name, option.gears.get(ALL, (1,)))) for name in self.memory.weights}
        on_npu = self.memory.weights_on_npu(streams, counts)
        weights = sum(self.memory.weights.values()) if self.case.manners.on_host else on_npu
        return {"weights": weights, "buffers": self.memory.buffers(streams, option.largest)}


def document(report: Report) -> dict[str, Any]:
    """All of it, for programs."""
    tuned, case = report.tuned, report.case
    steps = [(gear, *tuned.step_us(gear)) for gear in _all_gears(tuned.chosen)]
    return {
        "format": FORMAT,
        "pipeline": report.pipeline,
        "device": report.device,
        "traffic": case.traffic.source if case.traffic else None,
        "limit_us": report.limit_us,
        "host": {**vars(case.host), "most_per_sec": case.host.most_per_sec} if case.host else None,
        "candidates": tuned.candidates,
        "unsteadiness": tuned.unsteadiness,
        "tried": [{**_point(report, point), **vars(seen)} for point, seen in tuned.tried.items()],
        "options": [_option(report, option) for option in tuned.options],
        "chosen": _option(report, tuned.chosen),
        "steps": [{"gear": gear, "step_us": step_us, "measured": known} for gear, step_us, known in steps],
        "gear_sets": [{"gears": gears, "pad_waste": waste} for gears, waste, _ in gear_sets(case, tuned.chosen)],
        "deployment": json.loads(report.deployment.to_json()),
    }


def table(report: Report) -> RenderableType:
    """Within 100 columns."""
    tuned = report.tuned
    tried = len(tuned.tried)
    goal = f"p99 within {report.limit_us / 1e3:g} ms" if report.limit_us else "the most samples a second"
    head = (
        f"{report.pipeline} on {report.device}, for {goal}; traffic: {_traffic(report)}\n"
        f"{tried} of {tuned.candidates} candidates measured ({tried / tuned.candidates:.0%})"
    )
    tables = (_options_table(report), Text(), _gears_table(report), Text())
    return Group(Text(head), Text(), *tables, *(Text(line, style="yellow") for line in _notes(report)))


def gear_sets(case: Case, option: Option) -> list[tuple[tuple[int, ...], float, Sequence[str]]]:
    """For each number of gears, those that pad least, and their waste; and the option's own, on what it would run.

    The third says of which stages they are the option's own.
    """
    batches, among = option.batches, case.space.gears
    if case.traffic is not None and not case.traffic.arrivals:
        batches = split_at(case.traffic.histogram, among[-1])
    sets = dict.fromkeys(best_gears(batches, count, among=among) for count in range(1, case.most_gears + 1))
    own: dict[tuple[int, ...], list[str]] = {}
    for stage, gears in option.gears.items():
        own.setdefault(gears, []).append(stage)
    others = [(gears, pad_waste(batches, gears), ()) for gears in sets if gears not in own]
    return [*others, *((gears, pad_waste(option.batches, gears), stages) for gears, stages in own.items())]


def _traffic(report: Report) -> str:
    traffic = report.case.traffic
    if traffic is None:
        return "unknown, so every batch is full"
    count = sum(traffic.histogram.values())
    replayed = len(traffic.busiest)
    busiest = f", the busiest {replayed:,} in a row" if replayed < len(traffic.arrivals) else ""
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
            _gears(report, option),
        )
    return grid


def _gears_table(report: Report) -> Table:
    """What padding costs: the sets that would pad least, beside the choice."""
    grid = _grid("", "padding", "gears: for each number of them those that pad least, and the choice")
    several = len(set(report.tuned.chosen.gears.values())) > 1
    for gears, waste, stages in gear_sets(report.case, report.tuned.chosen):
        models = [model for stage in stages for model in report.models[stage]] if several else []
        names = f"{' '.join(models)} " if models else ""
        grid.add_row("*" if stages else "", f"{waste:.1%}", f"{names}{','.join(map(str, gears))}")
    return grid


def _notes(report: Report) -> Iterator[str]:
    yield _about_steps(report.tuned)
    yield _about_merging(report.tuned)
    yield _about_host(report)
    yield from _about_traffic(report.tuned)
    if report.tuned.unsteadiness > _UNSTEADY:
        yield (
            f"unsteady: two measurements of the same differed by {report.tuned.unsteadiness:.1f} times; "
            "something else uses this machine: tune when it is quiet, or with more --seconds"
        )
    if report.case.manners.on_host:
        yield "weights: once, whatever the streams; npu_ge has a copy for each stream, where there are gears"
    else:
        yield "weights: a copy for each stream, as npu_ge holds them where there are gears"
    largest, settings = report.tuned.chosen.largest, report.deployment
    if settings.model_backend == "npu_ge" and (settings.max_batch_size or largest) > MOST_GEARS:
        yield (
            f"gear {largest} is for this process: npu_ge has no padding, and to export more than {MOST_GEARS} sizes is "
            f"refused; --largest {MOST_GEARS} stays below that"
        )


def _about_steps(tuned: Tuned) -> str:
    streams = tuned.chosen.point.streams
    steps = ", ".join(f"{gear}: {_time(*tuned.step_us(gear))}" for gear in _all_gears(tuned.chosen))
    return f"a step of each gear, {streams} stream{'s' if streams > 1 else ''} busy: {steps}"


def _about_merging(tuned: Tuned) -> str:
    """Why batches are as large as they are."""
    largest = tuned.case.space.gears[-1]
    if largest == 1:
        return "merging: the model takes one sample at a time, or no request holds more"
    (one, known), (all_, all_known) = tuned.step_us(1), tuned.step_us(largest)
    each = all_ / largest
    times = f"a row takes {_time(one, known)} alone, and {_time(each, all_known)} in a step of {largest}"
    if each > one / _GAIN:
        return f"merging: {times}, so it {'costs throughput' if each > one * _GAIN else 'gains nothing'} here"
    return f"merging: {times}: {one / each:.1f} times as many samples a second"


def _about_host(report: Report) -> str:
    host = report.case.host
    if host is None:
        return "host: not measured, so what it does to a sample comes on top; give a sample: -i NAME=VALUE"
    cores = f"{host.cores} core{'s' if host.cores > 1 else ''}"
    text = f"host: {host.before_us:,.0f} us a sample before the device, {host.after_us:,.0f} us behind it"
    text += f"; it gives at most {host.most_per_sec:,.0f} samples/s on {cores}"
    if host.shared:
        return f"{text}, which it shares with the device"
    if report.tuned.chosen.per_sec >= 0.95 * host.most_per_sec:
        return f"{text}: more streams do not help"
    return text


def _about_traffic(tuned: Tuned) -> Iterator[str]:
    """Where more comes than is done."""
    arrivals = tuned.case.traffic.busiest if tuned.case.traffic and tuned.case.traffic.arrivals else ()
    seconds = arrivals[-1].time_s - arrivals[0].time_s if arrivals else 0.0
    comes = sum(arrival.samples for arrival in arrivals[:-1])  # the last one begins the time after them
    if comes > seconds * tuned.chosen.per_sec > 0:
        yield (
            f"traffic: {comes / seconds:,.0f} samples/s come, more than the {tuned.chosen.per_sec:,.0f} that are done: "
            "the longer it goes on, the longer the wait"
        )


def _all_gears(option: Option) -> list[int]:
    return sorted({gear for gears in option.gears.values() for gear in gears})


def _time(microseconds: float, measured: bool) -> str:
    return f"{microseconds:,.0f} us{'' if measured else ' (expected)'}"


def _gears(report: Report, option: Option) -> str:
    gears = by_model(option.gears, report.models)
    if isinstance(gears, tuple):
        return ",".join(map(str, gears))
    return "; ".join(f"{model} {','.join(map(str, own))}" for model, own in gears.items())


def _point(report: Report, point: Point) -> dict[str, Any]:
    return {"gear": point.gear, "streams": point.streams, report.share_name: point.share}


def _option(report: Report, option: Option) -> dict[str, Any]:
    padding = {stage: pad_waste(option.batches, gears) for stage, gears in option.gears.items()}
    return {
        "gears": by_model(option.gears, report.models),
        "streams": option.point.streams,
        report.share_name: option.point.share,
        "max_delay_us": option.max_delay_us,
        "per_sec": option.per_sec,
        "p99_us": option.p99_us,
        "pad_waste": sum(padding.values()) / len(padding),
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
