"""The command `gepipe report`: a pipeline on one HTML page."""

from __future__ import annotations

import dataclasses
import itertools
import platform
import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Optional

import cv2
import numpy as np
import onnxruntime
import typer

from ge_engine.cores import usable_cores
from ge_engine.whole_file import write_whole
from ops import WrongUse

from ..bench import Report, Settings, concurrencies, sweep
from ..bench.in_process import SessionTarget
from ..command import (
    Debug,
    DeploymentFile,
    DeviceName,
    GearsText,
    Streams,
    Target,
    app,
    check_device,
    check_place,
    errors,
    make_plan,
    note,
    open_session,
    settings_of,
    writing,
)
from ..draw.times import read_trace, read_trace_of
from ..load import load
from ..plan import Plan
from ..profile import Stats
from ..samples import session_samples
from .content import Content
from .found import all_findings
from .page import page

_WINDOWS = 4  # at least, in the time of a measurement: one to warm up, and three that agree
_IN_TRACE = 8  # samples
_TRACED = f"{_IN_TRACE} samples that ran after the benchmark, several of them at once, as session.map runs them"
_TIMEOUT_S = 60.0


@app.command()
def report(
    target: Target,
    output: Annotated[
        Optional[Path], typer.Option("-o", "--output", metavar="FILE", help="By default NAME.html; -: printed.")
    ] = None,
    bench: Annotated[
        Optional[str], typer.Option("--bench", metavar="SECONDS", help="Measure as long with each number of clients.")
    ] = None,
    concurrency: Annotated[
        str, typer.Option("--concurrency", metavar="RANGE", help='Clients at once, for --bench: "1,2,4".')
    ] = "1,2,4",
    inputs: Annotated[
        Optional[list[str]],
        typer.Option("-i", "--input", metavar="NAME=VALUE", help="Measure with it, or @FILE. By default random data."),
    ] = None,
    trace: Annotated[
        Optional[Path], typer.Option("--trace", metavar="FILE", help="Show this trace. By default one of --bench.")
    ] = None,
    device: DeviceName = "cpu", gears: GearsText = None, streams: Streams = None, deployment: DeploymentFile = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Write one HTML page about a pipeline: its picture, plan and gears, what was measured, and what may hurt."""
    with errors(debug):
        seconds = None if bench is None else _seconds(bench)
        wanted = concurrencies(concurrency)
        settings = settings_of(deployment, gears, streams)
        check_device(device)
        graph = load(target).validate(settings)
        file = output or Path(f"{graph.name}.html")
        printed = str(file) == "-"
        if not printed:
            check_place(file, target, trace, deployment)
        samples = session_samples(graph, inputs, None)
        plan = make_plan(graph, settings)
        document = None if trace is None else _trace_of(trace, plan)
        measured, stats, traced = None, None, "" if trace is None else f"the file {trace.name}"
        if seconds is not None:
            measured, stats, own = _measured(plan, device, samples, wanted, seconds, made_up=not inputs)
            if document is None:
                document, traced = own, _TRACED
        note("looking for what may hurt, in the models and in an export")
        found = all_findings(plan, samples if inputs else None)
        content = Content(plan, measured, stats, document, traced, found, _machine())
        if printed:
            typer.echo(page(content).encode(), nl=False)
            return
        with writing(file):
            write_whole(file, page(content))
        note(f"{file}")


def _seconds(text: str) -> float:
    """As "5" or "5s". Errors: WrongUse."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*s?", text)
    if match is None or not 0 < float(match[1]) <= 3600:
        raise WrongUse(f"--bench is {text!r}", fix='give seconds, up to 3600, as "5"')
    return float(match[1])


def _trace_of(file: Path, plan: Plan) -> dict[str, Any]:
    """Errors: WrongUse for a file that is no trace, or one of another pipeline."""
    return read_trace_of(file, [step.name for step in plan.graph.steps], plan.built)[0]


def _measured(
    plan: Plan, device: str, samples: Sequence[Mapping[str, Any]], wanted: Sequence[int], seconds: float, made_up: bool
) -> tuple[Report, Stats, dict[str, Any]]:
    """A bench, where the time of its first level went, and then a trace of a few samples.

    Errors: WrongUse where samples are refused.
    """
    kept: list[Report] = []
    window = Settings(window_s=seconds / _WINDOWS, max_windows=_WINDOWS + 2)
    with open_session(plan, device) as session:
        measuring = SessionTarget(session, samples, 1, _TIMEOUT_S, made_up=made_up)
        run = partial(
            sweep, measuring, measuring.where, settings=window, done=kept.append, counted_by="the session", say=note
        )
        done = run(wanted[:1])
        stats = session.stats()
        if len(wanted) > 1 and not done.interrupted:
            done = dataclasses.replace(done, levels=[*done.levels, *run(wanted[1:]).levels])
        with tempfile.TemporaryDirectory(prefix="gepipe") as folder:
            file = Path(folder) / "trace.json"
            with session.trace(file):
                for _ in session.map(itertools.islice(itertools.cycle(samples), _IN_TRACE)):
                    pass
            return done, stats, read_trace(file)


def _machine() -> str:
    versions = {
        "Python": platform.python_version(),
        "gepipe": version("gepipe"),
        "ONNX Runtime": onnxruntime.__version__,
        "numpy": np.__version__,
        "OpenCV": cv2.__version__,
    }
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    return f"{usable_cores()} cores of {platform.system()} {platform.machine()} with {packages}"
