"""The commands for Triton."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import WrongUse
from ops.near import near

from ..command import (
    FAILED,
    AsJson,
    Debug,
    DeploymentFile,
    Exact,
    GearsText,
    Streams,
    Target,
    app,
    errors,
    make_plan,
    named,
    note,
    out,
    settings_of,
)
from ..findings import Strict, end_with
from ..load import load
from ..parse import sample_from
from ..trouble import print_findings
from .folder import is_model
from .ports import USUAL, usual_ports
from .releases import DEFAULT_TARGET, TARGETS

Repository = Annotated[Path, typer.Argument(metavar="DIR", help="A model repository.")]
TargetRelease = Annotated[str, typer.Option("--target", help=f"The release of Triton: {', '.join(TARGETS)}.")]
PRINTS = ("ascend",)


@app.command()
def serve(
    repository: Repository,
    target: TargetRelease = DEFAULT_TARGET,
    address: Annotated[str, typer.Option("--address", help="Where to listen.")] = "127.0.0.1",
    http_port: Annotated[Optional[int], typer.Option("--http-port", help="8000, or a free one.")] = None,
    grpc_port: Annotated[Optional[int], typer.Option("--grpc-port", help="8001, or a free one.")] = None,
    metrics_port: Annotated[Optional[int], typer.Option("--metrics-port", help="8002, or a free one.")] = None,
    backend_config: Annotated[
        Optional[list[str]], typer.Option("--backend-config", metavar="BACKEND,KEY=VALUE", help="As tritonserver's.")
    ] = None,
    poll: Annotated[bool, typer.Option("--poll", help="Follow changes of the repository.")] = False,
    environment: Annotated[
        Optional[Path], typer.Option("--environment", metavar="DIR", help="The Python environment of the host stages.")
    ] = None,
    print_for: Annotated[
        Optional[str], typer.Option("--print", metavar="ascend", help="Print the command for an Ascend machine.")
    ] = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Serve a model repository with tritonserver. It runs the repository's code: serve what you trust."""
    with errors(debug):
        _check(repository, target)
        if print_for is not None and print_for not in PRINTS:
            raise WrongUse(f"there is no command to print for {print_for}", fix=near(print_for, PRINTS))
        wanted = (http_port, grpc_port, metrics_port)
        if print_for is not None:
            from .ascend import ascend_command

            ports = [port or usual for port, usual in zip(wanted, USUAL)]
            command = ascend_command(
                repository, target, ports=ports, address=address, backend_config=backend_config or (), poll=poll
            )
            out.print(Text(command), soft_wrap=True)
            return
        if sys.platform != "linux":  # what follows needs Linux, some of it at import
            fix = "use Docker, WSL 2 or another machine; export, lint and run work here"
            raise WrongUse(f"tritonserver runs on Linux only, and this is {sys.platform}", fix=fix)
        from .server import Server
        from .serving import serve_until_stopped

        note("serve runs the code that is in the repository, with your rights")
        server = Server(
            repository,
            target=target,
            control="poll" if poll else "explicit",
            address=address,
            ports=usual_ports(wanted, address),
            backend_config=backend_config or (),
            environment=environment,
            say=note,
        )
        serve_until_stopped(server, note, lambda text: out.print(Text(text), soft_wrap=True))


@app.command()
def export(
    target: Target,
    directory: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", callback=named, help="The model repository.")
    ],
    gears: GearsText = None,
    streams: Streams = None,
    exact: Exact = False,
    deployment: DeploymentFile = None,
    version: Annotated[Optional[int], typer.Option("--version", help="The next free one by default.")] = None,
    point: Annotated[
        bool, typer.Option("--point/--no-point", help="Point the ensemble at the new version, or leave it.")
    ] = True,
    allow_breaking: Annotated[
        bool, typer.Option("--allow-breaking", help="Even if clients of the old version would break.")
    ] = False,
    environment: Annotated[
        str, typer.Option("--environment", metavar="PATH", help="A packed Python environment for the host stages.")
    ] = "",
    bundle: Annotated[
        str, typer.Option("--bundle", metavar="PLATFORM", help="Add the wheels for it, as linux-aarch64-cp310.")
    ] = "",
    inputs: Annotated[
        Optional[list[str]],
        typer.Option("-i", "--input", metavar="NAME=VALUE", help="A golden sample's value, or @FILE."),
    ] = None,
    activate: Annotated[
        Optional[int], typer.Option("--activate", metavar="VERSION", help="Only point the ensemble at this version.")
    ] = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Write a pipeline into a Triton model repository, with golden requests."""
    from . import repository
    from .model_configs import other_gears

    with errors(debug):
        settings = settings_of(deployment, gears, streams, exact)
        graph = load(target).validate(settings)
        if activate is not None:
            name = settings.name_prefix + graph.name
            repository.activate(directory, name, activate, settings.target)
            out.print(Text(f"{directory / name} is version {activate}"), soft_wrap=True)
            return
        samples = [sample_from(inputs, graph.inputs)] if inputs else None
        compiled = make_plan(graph, settings)
        names = repository.export(
            compiled, directory, version=version, activate=point, allow_breaking=allow_breaking,
            environment=environment, bundle=bundle, samples=samples,
        )  # fmt: skip
        for name in names:
            out.print(Text(str(directory / name)), soft_wrap=True)
        for line in other_gears(compiled):
            out.print(Text(line), soft_wrap=True)
        hosted = any(not stage.on_device for stage in compiled.stages)
        if hosted and not (environment or bundle):
            out.print(Text(f"the server's Python needs: pip install {' '.join(repository.NEEDS)}"), soft_wrap=True)


@app.command()
def verify(
    repository: Repository,
    target: TargetRelease = DEFAULT_TARGET,
    url: Annotated[
        Optional[str], typer.Option("--url", metavar="HOST:PORT", help="A server that runs already: its HTTP port.")
    ] = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Lint a repository, serve it, and hold its answers against its golden requests. It runs the repository's code."""
    from . import verify as verifying

    with errors(debug):
        _check(repository, target)
        if url is None:
            note("verify runs the code that is in the repository, with your rights")
            verdict = verifying.verify(repository, target, note)
        else:
            verdict = verifying.verify_url(repository, url)
        if verdict.findings:
            print_findings(verdict.findings, str(repository), out)
        for model, state in verdict.models.items():
            out.print(Text(f"{'ok' if state == 'READY' else 'NO'}  {model}: {state}"), soft_wrap=True)
        for model, rows in verdict.rows.items():
            for row in rows:
                out.print(Text(f"{'ok' if row.ok else 'NO'}  {model}, {row}"), soft_wrap=True)
        right = sum(row.ok for rows in verdict.rows.values() for row in rows)
        count = sum(len(rows) for rows in verdict.rows.values())
        out.print(Text(f"{'verified' if verdict.ok else 'NOT verified'}: {right} of {count} answers right"))
        if not verdict.ok:
            raise typer.Exit(FAILED)


@app.command()
def lint(
    repository: Repository,
    target: TargetRelease = DEFAULT_TARGET,
    as_json: AsJson = False,
    strict: Strict = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Find what a server would refuse, or fail on, in any Triton model repository. It runs nothing of it."""
    from . import lint as linting

    with errors(debug):
        _check(repository, target)
        if not any(entry.is_dir() for entry in repository.iterdir()):
            raise WrongUse(f"{repository} holds no model", fix="name a folder that holds a folder for each model")
        findings = linting.lint(repository, target, environment=os.environ)
        end_with(findings, str(repository), as_json=as_json, strict=strict)


def _check(repository: Path, target: str) -> None:
    if not repository.is_dir():
        raise WrongUse(f"{repository} is no folder", fix="name a model repository, as gepipe export writes it")
    if is_model(repository):
        parent = repository.parent if repository.name else repository.resolve().parent
        raise WrongUse(f"{repository} is the folder of one model", fix=f"give the repository that it is in: {parent}")
    if target not in TARGETS:
        raise WrongUse(f"there is no target {target}", fix=near(target, TARGETS))
