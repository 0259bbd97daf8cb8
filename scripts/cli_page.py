"""The page of the command line, docs/reference/cli.md: every command and option, taken from the app itself."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from rule_pages import plain

from pipeline.cli import COMMANDS, command

PAGE = "reference/cli.md"
INTRODUCTION = """\
# Command line

`gepipe COMMAND --help` says the same of one command.

A pipeline is named as `graph.py` (its only Pipeline, else the one called `pipeline`), as `graph.py:name`, or as
`module:name`. Answers go to the standard output; notes and errors go to the error output. The exit code is 0, 1 for
what failed or was found, and 2 for a wrong use. Every command has `--debug`, which shows tracebacks.
"""
EVERYWHERE = ("--debug", "--help")


def pages() -> dict[str, str]:
    """By their paths in docs."""
    found = (each for name in COMMANDS for each in _commands(f"gepipe {name}", command(name)))
    return {PAGE: "\n".join([INTRODUCTION, *(_section(*each) for each in found)])}


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Depth first, as --help lists them."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for short, inner in command.commands.items():
        if not inner.hidden:
            yield from _commands(f"{name} {short}", inner)


def _section(name: str, command: Any) -> str:
    parameters = [
        parameter
        for parameter in command.params
        if not getattr(parameter, "hidden", False) and not set(parameter.opts) & set(EVERYWHERE)
    ]
    words = [_argument(parameter) for parameter in parameters if parameter.param_type_name == "argument"]
    rows = "".join(f"| {' | '.join(_row(parameter))} |\n" for parameter in parameters)
    usage = " ".join([name, *words, "[OPTIONS]"])
    help_text = plain(" ".join((command.help or "").split()))
    table = f"\n| option | by default | meaning |\n|---|---|---|\n{rows}" if rows else ""
    return f"## {name}\n\n`{usage}`\n\n{help_text}\n{table}"


def _argument(parameter: Any) -> str:
    metavar = str(parameter.metavar or parameter.name.upper())
    return metavar if parameter.required else f"[{metavar}]"


def _row(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        written = _code(_argument(parameter))
    else:
        names = [*sorted(parameter.opts, key=len), *parameter.secondary_opts]
        value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
        written = ", ".join(_code(f"{name}{value}") for name in names)
    default = parameter.default
    shown = "" if default is None or isinstance(default, bool) or parameter.required else _code(default)
    return written, shown, plain(" ".join((parameter.help or "").split()))


def _code(text: Any) -> str:
    """In a cell. Within backticks GitHub and the site disagree about how a bar is written."""
    return f"<code>{escape(str(text)).replace('|', '&#124;')}</code>" if "|" in str(text) else f"`{text}`"
