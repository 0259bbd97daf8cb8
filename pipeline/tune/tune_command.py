"""The command `gepipe tune`."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ge_engine.cores import usable_cores
from ge_engine.devices import AscendDevice, Device
from ge_engine.progress import Progress
from ge_engine.whole_file import write_whole
from ops import DeviceError, GepipeError, SpecError, WrongUse

from ..bars import compiling
from ..command import (
    AsJson,
    Debug,
    DeploymentFile,
    DeviceName,
    Target,
    app,
    check_device,
    err,
    errors,
    make_plan,
    named,
    note,
    open_session,
    out,
    print_json,
    settings_of,
)
from ..deployment import Deployment
from ..load import load
from ..made_up import is_picture
from ..plan import Plan
from ..samples import session_samples
from ..session import open_for
from .choose import Case
from .gears import best_gears, split_at
from .host import Host, measure_host
from .memory import Memory
from .report import Report, document, table
from .search import Measured
from .space import NPU_STREAMS, Manners, Point, Space, ladder, part_locks
from .stages import Stages
from .steps import Steps
from .traffic import Traffic, parse_histogram, read_log
from .tuned import tune as tuned

_MOST_CANDIDATES = 10  # gears that are tried, where the traffic has many sizes


@app.command()
def tune(
    target: Target,
    traffic: Annotated[
        Optional[Path],
        typer.Option(
            "--traffic",
            metavar="FILE",
            help="A log of requests, as CSV: time_s (seconds) or time (ISO 8601), and batch, their samples.",
        ),
    ] = None,
    histogram: Annotated[
        Optional[str],
        typer.Option("--histogram", metavar="SIZES", help='Requests by their samples: "1:500,2:120", 500 of one.'),
    ] = None,
    inputs: Annotated[
        Optional[list[str]],
        typer.Option(
            "-i", "--input", metavar="NAME=VALUE",
            help="A sample, to measure what the host does to it: x=@FILE. By default random data.",
        ),
    ] = None,
    device: DeviceName = "cpu",
    latency_ms: Annotated[
        Optional[float], typer.Option("--latency-ms", help="What p99 may be; else the most samples a second.")
    ] = None,
    max_gears: Annotated[int, typer.Option("--max-gears", min=1, help="How many gears to choose.")] = 4,
    largest: Annotated[int, typer.Option("--largest", min=1, max=1024, help="The largest gear to try.")] = 16,
    streams: Annotated[
        Optional[int],
        typer.Option("--streams", min=1, max=64, help="The most to try. By default 8; on a CPU its cores, or 4."),
    ] = None,
    cores: Annotated[
        Optional[str],
        typer.Option(
            "--cores", metavar="LOCKS",
            help='Core locks to try besides none on an NPU, as "12|10,6|5", or "none". By default 3/4 and 1/2 of all.',
        ),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.001, help="For how long to measure each.")] = 0.4,
    deployment: DeploymentFile = None,
    output: Annotated[
        Optional[Path],
        typer.Option("-o", "--output", metavar="FILE", callback=named, help="Write the choice, for --deployment."),
    ] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Choose gears, streams, cores or threads, and how long to wait for others, by measuring on this device."""
    with errors(debug):
        if latency_ms is not None and not 0 < latency_ms < math.inf:
            raise WrongUse(f"--latency-ms is {latency_ms:g}", fix="give a time in milliseconds, more than 0")
        limit_us = math.inf if latency_ms is None else latency_ms * 1e3
        _check_output(output)
        expected = _traffic(traffic, histogram)
        base = settings_of(deployment)
        check_device(device)
        manners, chip = _opened(device, base)
        locks = part_locks(chip if base.cores is None else "") if cores is None else _locks(cores, manners.on_host)
        graph = load(target).validate(base)
        plan = make_plan(graph, Deployment.of(base, gears=_candidates(expected, largest)))
        stages = Stages.of(plan, manners.pads)
        space = Space.of(stages.gears, manners, locks, streams)
        host = _host(plan, inputs, device, seconds)
        case = Case(space, expected, max_gears, manners, host)
        with compiling(err) as show, Steps(plan, space.streams[-1], seconds, partial(_open, device, show)) as steps:
            found = tuned(case, _shown(steps), limit_us, partial(stages.measured, steps))
        choice = found.deployment(base, stages.models)
        report = Report(graph.name, device, found, Memory.of(plan), latency_ms and limit_us, choice, stages.models)
        if as_json:
            print_json(document(report))
        else:
            out.print(table(report))
            out.print(Text(f"the choice: {_settings(choice)}"), soft_wrap=True)
        if output is not None:
            _write(choice, output)
            if not as_json:
                out.print(Text(f"the choice is in {output}"), soft_wrap=True)


def _check_output(output: Path | None) -> None:
    """Before minutes are spent. Errors: WrongUse."""
    if output is None:
        return
    folder = output.absolute().parent
    if not folder.is_dir():
        raise WrongUse(f"{folder} is no folder", fix="make it, or name another")
    if output.exists() and not output.is_file():
        raise WrongUse(f"{output} is no file", fix="name a file: -o tuned.json")
    if not os.access(folder, os.W_OK):
        raise WrongUse(f"{folder} cannot be written to", fix="name another folder")


def _settings(choice: Deployment) -> str:
    """On one line: what was chosen, and what else is not as it is by default."""
    fields = zip(*(json.loads(settings.to_json()).items() for settings in (choice, Deployment())))
    chosen = ("gears", "streams")
    return json.dumps({name: value for (name, value), (_, usual) in fields if name in chosen or value != usual})


def _write(choice: Deployment, output: Path) -> None:
    """Errors: GepipeError; the choice, which took minutes, is on the error output then."""
    try:
        write_whole(output, choice.to_json() + "\n")
    except OSError as error:
        note(_settings(choice))
        raise GepipeError(f"{output} cannot be written: {error}", fix="keep the choice that stands above") from error


def _traffic(log: Path | None, histogram: str | None) -> Traffic | None:
    if log is not None and histogram is not None:
        raise WrongUse("--traffic and --histogram are both given", fix="give one: a log says more than a histogram")
    if log is not None:
        return read_log(log)
    return parse_histogram(histogram) if histogram is not None else None


def _open(device: str, progress: Progress, settings: Deployment) -> Device:
    """An NPU compiles for each share of its cores, where the cache has nothing."""
    if settings.cores is not None:
        note(f"loading with cores {settings.cores}")
    return open_for(settings, device, progress)


def _opened(device: str, settings: Deployment) -> tuple[Manners, str]:
    """What the device is like, and which chip it is; empty where that says nothing."""
    opened = open_for(settings, device)
    try:
        return Manners.of(opened), opened.soc if isinstance(opened, AscendDevice) else ""
    finally:
        opened.close()


def _locks(text: str, on_host: bool) -> tuple[str, ...]:
    if on_host:
        raise WrongUse("--cores is for an NPU", fix="leave it out: on a CPU, the threads of a stream are tried")
    if text.strip() == "none":
        return ()
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


def _host(plan: Plan, inputs: list[str] | None, device: str, seconds: float) -> Host | None:
    """None where no sample is given, and one of random data will not do. Errors: those of a sample that is given."""
    pictures = [value.name for value in plan.graph.inputs if is_picture(value, plan.graph)]
    if pictures and not inputs:
        note(f"host: random data will not do: the size of a picture decides; give one: -i {pictures[0]}=@FILE")
        return None
    try:
        samples = session_samples(plan.graph, inputs, None)
        # One batch a core, each on a thread of its own.
        alone = Deployment.of(plan.deployment, streams=min(usable_cores(), NPU_STREAMS), threads=1)
        with open_session(dataclasses.replace(plan, deployment=alone), device) as session:
            host = measure_host(session, samples, seconds)
    except DeviceError:
        raise
    except GepipeError as error:
        if inputs:
            raise
        note(f"host: random data will not do: {error.message}")
        return None
    note(f"host: {host.before_us:,.0f} us a sample before the device, {host.after_us:,.0f} us behind it")
    return host


def _shown(steps: Steps) -> Callable[[Point], Measured]:
    """With a line for each that was measured."""

    def measure(point: Point) -> Measured:
        seen = steps(point)
        kind = "threads" if isinstance(point.share, int) else "cores"
        share = "" if point.share is None else f", {kind} {point.share}"
        note(f"gear {point.gear}, streams {point.streams}{share}: {seen.per_sec:.1f} samples/s")
        return seen

    return measure
