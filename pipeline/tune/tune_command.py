"""The command `gepipe tune`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import SpecError, WrongUse

from ..command import (
    AsJson,
    Debug,
    DeploymentFile,
    DeviceName,
    Target,
    app,
    check_device,
    errors,
    make_plan,
    note,
    out,
    print_json,
    settings_of,
)
from ..deployment import Deployment
from ..load import load
from ..plan import Plan
from ..session import open_for
from .choose import Case
from .gears import best_gears, split_at
from .manners import Manners
from .memory import Memory
from .report import Report, document, table
from .search import Measured
from .space import Point, Space, ladder
from .steps import Steps
from .traffic import Traffic, parse_histogram, read_log
from .tuned import tune as tuned

_MOST_CANDIDATES = 10  # gears that are tried, where the traffic has many sizes


@app.command()
def tune(
    target: Target,
    traffic: Annotated[
        Optional[Path],
        typer.Option("--traffic", metavar="FILE", help="A log of requests, as CSV: time_s or time, and batch."),
    ] = None,
    histogram: Annotated[
        Optional[str], typer.Option("--histogram", metavar="SIZES", help='Samples of a request: "1:500,2:120".')
    ] = None,
    device: DeviceName = "cpu",
    latency_ms: Annotated[
        Optional[float], typer.Option("--latency-ms", help="What p99 may be; else the most samples a second.")
    ] = None,
    max_gears: Annotated[int, typer.Option("--max-gears", min=1, help="How many gears to choose.")] = 4,
    largest: Annotated[int, typer.Option("--largest", min=1, max=1024, help="The largest gear to try.")] = 16,
    cores: Annotated[
        Optional[str], typer.Option("--cores", metavar="LOCKS", help='Core locks to try on an NPU, as "12|10,6|5".')
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.001, help="For how long to measure each.")] = 0.4,
    deployment: DeploymentFile = None,
    output: Annotated[
        Optional[Path], typer.Option("-o", "--output", metavar="FILE", help="Write the choice, for --deployment.")
    ] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Choose gears, streams, cores or threads, and how long to wait for others, by measuring on this device."""
    with errors(debug):
        if latency_ms is not None and not 0 < latency_ms < math.inf:
            raise WrongUse(f"--latency-ms is {latency_ms:g}", fix="give a time in milliseconds, more than 0")
        if output is not None and not output.absolute().parent.is_dir():
            raise WrongUse(f"{output.absolute().parent} is no folder", fix="make it, or name another")
        expected = _traffic(traffic, histogram)
        base = settings_of(deployment)
        check_device(device)
        manners = _manners(device, base)
        locks = _locks(cores, manners.on_host)
        graph = load(target).validate(base)
        plan = make_plan(graph, Deployment.of(base, gears=_candidates(expected, largest)))
        case = Case(Space.of(_runnable(plan, manners.pads), manners, locks), expected, max_gears, manners)
        limit_us = math.inf if latency_ms is None else latency_ms * 1e3
        with Steps(plan, case.space.streams[-1], seconds, lambda settings: open_for(settings, device)) as steps:
            found = tuned(case, _shown(steps), limit_us)
        choice = found.deployment(base)
        if output is not None:
            output.write_text(choice.to_json() + "\n", encoding="utf-8")
        report = Report(graph.name, device, case, found, Memory.of(plan), latency_ms and limit_us, choice)
        if as_json:
            print_json(document(report))
        else:
            out.print(table(report))
            out.print(Text(f"the choice is in {output}" if output else choice.to_json()), soft_wrap=True)


def _traffic(log: Path | None, histogram: str | None) -> Traffic | None:
    if log is not None and histogram is not None:
        raise WrongUse("--traffic and --histogram are both given", fix="give one: a log says more than a histogram")
    if log is not None:
        return read_log(log)
    return parse_histogram(histogram) if histogram is not None else None


def _manners(device: str, settings: Deployment) -> Manners:
    opened = open_for(settings, device)
    try:
        return Manners.of(opened)
    finally:
        opened.close()


def _locks(text: str | None, on_host: bool) -> tuple[str, ...]:
    if text is None:
        return ()
    if on_host:
        raise WrongUse("--cores is for an NPU", fix="leave it out: on a CPU, the threads of a stream are tried")
    locks = tuple(part.strip() for part in text.split(","))
    try:
        for lock in locks:
            Deployment.of(cores=lock)
    except SpecError as error:
        raise WrongUse(f"--cores: {error.message}", fix=error.fix) from error
    if len(set(locks)) < len(locks):
        raise WrongUse(f"--cores is {text!r}", fix="name each lock once")
    return locks


def _candidates(traffic: Traffic | None, largest: int) -> tuple[int, ...]:
    """The gears to try. Where each request is a batch of its own, their sizes; else those that a batcher may form.

    Always 1, too: some models take one sample at a time.
    """
    if traffic is None or traffic.arrivals:
        return ladder(largest)
    return tuple(sorted({1, *best_gears(split_at(traffic.histogram, largest), _MOST_CANDIDATES)}))


def _runnable(plan: Plan, pads: bool) -> tuple[int, ...]:
    """Those of the gears that a step can have. Errors: WrongUse for a plan that has nothing to tune."""
    stages = plan.built.values()
    if not stages:
        raise WrongUse(f"pipeline '{plan.graph.name}' has no device stage", fix="tune one that has a Model")
    if any(stage.mixing_node is not None or (stage.gears.sizes and pads) for stage in stages):
        return (1,)  # one sample at a time, whatever the gears
    gears = plan.deployment.gears
    assert not isinstance(gears, Mapping)
    return gears


def _shown(steps: Steps) -> Callable[[Point], Measured]:
    """With a line for each that was measured."""

    def measure(point: Point) -> Measured:
        seen = steps(point)
        kind = "threads" if isinstance(point.share, int) else "cores"
        share = "" if point.share is None else f", {kind} {point.share}"
        note(f"gear {point.gear}, streams {point.streams}{share}: {seen.per_sec:.1f} samples/s")
        return seen

    return measure
