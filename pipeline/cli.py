"""gepipe: the command line. A command's module is imported when it is called."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand

COMMANDS = {  # as --help lists them: the module of each, and its docstring
    "check": ("check_command", "Validate a pipeline: every problem in one report."),
    "plan": (
        "plan_command",
        "Explain a compiled pipeline: stages, edges, placement, gears, and what the passes changed.",
    ),
    "run": ("run_command", "Run a pipeline on one sample."),
    "doctor": (
        "doctor.doctor_command",
        "Look at the installation: versions, packages, devices, the NPU. With --log, say what a server's log means.",
    ),
    "rule": ("rule_command", "Explain a rule: why it is there, a bad line and a good one."),
    "bench": (
        "bench_command",
        "Measure a pipeline in this process, or a running server: throughput and latency at each concurrency, "
        "and where the time goes.",
    ),
    "compare": (
        "compare.compare_command",
        "Compare layer by layer: with another precision, another model, or the tensors that an NPU dumped.",
    ),
    "convert": (
        "convert.convert_command",
        "Make a model of another kind, or an entry of a model repository, and hold it against its source.",
    ),
    "draw": (
        "draw.draw_command",
        "Draw a compiled pipeline: its nodes, what passes between them, its stages. By default NAME.svg.",
    ),
    "inspect": (
        "inspect.inspect_command",
        "Look into a model: what it is, what it costs in each gear, what hurts on an NPU; and mend what can be mended.",
    ),
    "new": (
        "new.new_command",
        "Write a pipeline to start from, by what a model's file says; what it could not know is marked CHECK.",
    ),
    "report": (
        "report_page.report_command",
        "Write one HTML page about a pipeline: its picture, plan and gears, what was measured, and what may hurt.",
    ),
    "serve": (
        "triton.commands",
        "Serve a model repository with tritonserver. It runs the repository's code: serve what you trust.",
    ),
    "export": ("triton.commands", "Write a pipeline into a Triton model repository, with golden requests."),
    "verify": (
        "triton.commands",
        "Lint a repository, serve it, and hold its answers against its golden requests. It runs the repository's code.",
    ),
    "lint": (
        "triton.commands",
        "Find what a server would refuse, or fail on, in any Triton model repository. It runs nothing of it.",
    ),
    "tune": (
        "tune.tune_command",
        "Choose gears, streams, cores or threads, and how long to wait for others, by measuring on this device.",
    ),
    "cache": ("cache_commands", "Look at the compile cache, or clear it."),
}

app = typer.Typer(
    name="gepipe",
    help="Declare a pipeline once; check, plan and run it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def command(name: str) -> Any:
    """A command, with all that it takes."""
    module = import_module(f".{COMMANDS[name][0]}", __package__)
    return typer.main.get_group(module.app).commands[name]


class _Named(TyperCommand):
    """Stands for a command until it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return command(str(self.name)).make_context(info_name, args, parent, **extra)


for _name, (_, _help) in COMMANDS.items():
    app.command(_name, cls=_Named, help=_help)(lambda: None)


def main() -> None:
    """The entry point: `gepipe`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter still gets the rest
            stream.reconfigure(errors="backslashreplace")
    app()
