"""The command `gepipe bench`: of a pipeline in this process, or of a running server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Optional

import typer

from ops import WrongUse

from .bench import Files, Report, Settings, concurrencies, npu_smi, sweep, table
from .bench.in_process import SessionTarget
from .command import (
    FAILED,
    Debug,
    DeploymentFile,
    DeviceName,
    Exact,
    GearsText,
    Streams,
    app,
    check_device,
    errors,
    make_plan,
    named,
    note,
    open_session,
    out,
    settings_of,
)
from .load import load
from .samples import session_samples
from .triton import bench_inputs
from .triton.bench_server import ServedModel, ServerTarget, on_this_machine
from .triton.bench_wire import connect


@app.command()
def bench(
    target: Annotated[
        str, typer.Argument(metavar="PIPELINE|HOST:PORT", help="graph.py; with -m, a running server's gRPC port.")
    ],
    model: Annotated[
        Optional[str], typer.Option("-m", "--model", metavar="NAME", help="Of a server: an ensemble, or any model.")
    ] = None,
    http: Annotated[bool, typer.Option("--http/--grpc", help="The way to ask a server.")] = False,
    device: DeviceName = "cpu", gears: GearsText = None, streams: Streams = None, exact: Exact = False,
    deployment: DeploymentFile = None,
    golden: Annotated[
        Optional[Path], typer.Option("--golden", metavar="DIR", help="Send the golden requests of this repository.")
    ] = None,
    inputs: Annotated[
        Optional[list[str]],
        typer.Option("-i", "--input", metavar="NAME=VALUE", help="Send this value, or @FILE. By default random data."),
    ] = None,
    concurrency: Annotated[
        str, typer.Option("--concurrency", metavar="RANGE", help='Clients at once: "4", "1,4,16", "FROM:TO:STEP".')
    ] = "1",
    batch: Annotated[int, typer.Option("--batch", min=1, help="Samples in a request.")] = 1,
    window_s: Annotated[float, typer.Option("--window-s", min=0.01, help="The length of a window.")] = 2.0,
    stability: Annotated[
        float, typer.Option("--stability", min=0, help="Three windows in a row agree; 0.1: within 10 % of their mean.")
    ] = 0.1,
    max_windows: Annotated[int, typer.Option("--max-windows", min=3, help="After so many it is unstable.")] = 10,
    timeout_s: Annotated[float, typer.Option("--timeout-s", min=0.01, help="Of one request.")] = 60.0,
    json_file: Annotated[
        Optional[Path], typer.Option("--json", metavar="FILE", callback=named, help="Write all of it.")
    ] = None,
    csv_file: Annotated[
        Optional[Path], typer.Option("--csv", metavar="FILE", callback=named, help="A line a concurrency.")
    ] = None,
    plot_file: Annotated[
        Optional[Path], typer.Option("--plot", metavar="FILE", callback=named, help="A picture, as PNG.")
    ] = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Measure a pipeline in this process, or a running server: throughput and latency at each concurrency, and where
    the time goes.
    """

    def done(report: Report) -> None:
        out.print(table(report))
        files.write(report)

    with errors(debug), ExitStack() as stack:
        wanted = concurrencies(concurrency)
        files = Files(json_file, csv_file, plot_file)
        files.check()
        measured: ServerTarget | SessionTarget
        if model is None:
            if re.fullmatch(r"[^/\\]*:\d+", target):
                raise WrongUse(f"which model of {target}?", fix="name it: -m NAME")
            settings = settings_of(deployment, gears, streams, exact)
            check_device(device)
            graph = load(target).validate(settings)
            samples = session_samples(graph, inputs, golden)
            session = stack.enter_context(open_session(make_plan(graph, settings), device))
            measured = SessionTarget(session, samples, batch, timeout_s, made_up=not (inputs or golden))
            where = measured.where
        else:
            if exact or any(value is not None for value in (gears, streams, deployment)):
                fix = "leave out --gears, --streams, --exact and --deployment"
                raise WrongUse("a server has its own settings", fix=fix)
            measured, where = server_target(target, model, http, inputs, golden, batch, timeout_s)
        here = model is None or on_this_machine(target)
        usage = npu_smi.usage if npu_smi.available() and here else None
        counted_by = "the session" if model is None else "the server"
        window = Settings(window_s, stability, max_windows)
        report = sweep(measured, where, wanted, window, done, usage=usage, counted_by=counted_by, say=note)
    if report.interrupted or report.failed:
        raise typer.Exit(130 if report.interrupted else FAILED)


def server_target(
    url: str, name: str, http: bool, words: Sequence[str] | None, golden: Path | None, rows: int, timeout_s: float
) -> tuple[ServerTarget, str]:
    """And where it is. Errors: ServerError when the server or the model is not there; WrongUse."""
    model = ServedModel(connect(url, "http" if http else "grpc"), name)
    samples = bench_inputs.samples(model.inputs, words, golden, name, model.batching)
    return ServerTarget(model, samples, rows, timeout_s, made_up=not (words or golden)), model.where
