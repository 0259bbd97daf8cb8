"""The commands for Triton."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ..cli import Debug, _errors, app, err, out
from ..load import WrongUse
from ..near import near
from .ports import USUAL, usual_ports
from .schema import DEFAULT_TARGET, TARGETS

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
    with _errors(debug):
        _check_serve(repository, target, print_for)
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

        _say("serve runs the code that is in the repository, with your rights")
        server = Server(
            repository,
            target=target,
            control="poll" if poll else "explicit",
            address=address,
            ports=usual_ports(wanted, address),
            backend_config=backend_config or (),
            environment=environment,
            say=_say,
        )
        serve_until_stopped(server, _say, lambda text: out.print(Text(text), soft_wrap=True))


def _check_serve(repository: Path, target: str, print_for: str | None) -> None:
    if not repository.is_dir():
        raise WrongUse(f"{repository} is no folder", fix="name a model repository, as gepipe export writes it")
    if target not in TARGETS:
        raise WrongUse(f"there is no target {target}", fix=near(target, TARGETS))
    if print_for is not None and print_for not in PRINTS:
        raise WrongUse(f"there is no command to print for {print_for}", fix=near(print_for, PRINTS))


def _say(text: str) -> None:
    err.print(Text(text), soft_wrap=True)
