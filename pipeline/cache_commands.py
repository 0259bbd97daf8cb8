"""The commands for the compile cache."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.text import Text

from ge_engine.cache import Cache, Entry
from ge_engine.cache.store import FOLDER, OFF
from ops import WrongUse

from .command import FAILED, AsJson, Debug, app, errors, new_table, out, print_json

cache_app = typer.Typer(help="Look at the compile cache, or clear it.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@cache_app.command("list")
def list_entries(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the built stages that are kept, the most recently used first."""
    with errors(debug):
        cache = _cache()
        entries = cache.entries()
        total = sum(entry.nbytes for entry in entries)
        if as_json:
            stored = {"folder": str(cache.folder), "nbytes": total, "most_nbytes": cache.most_nbytes}
            print_json({**stored, "entries": list(map(_plain, entries))})
            return
        if entries:
            table = new_table("name", "stage", "gears", "models", "size", "last used")
            for entry in entries:
                table.add_row(*map(Text, _row(entry)))
            out.print(table)
        out.print(Text(f"{cache.folder}: {_sum(entries)} of {_size(cache.most_nbytes)}"), soft_wrap=True)


@cache_app.command()
def clear(
    older_than: Annotated[
        Optional[str],
        typer.Option("--older-than", metavar="TIME", help='What has not been used for so long: "90m", "12h", "30d".'),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Remove what is kept; what a running process uses stays."""
    with errors(debug):
        cache = _cache()
        gone = cache.clear(_seconds(older_than) if older_than is not None else 0)
        if as_json:
            print_json({"folder": str(cache.folder), "removed": list(map(_plain, gone))})
        else:
            out.print(Text(f"{cache.folder}: {_sum(gone)} removed"), soft_wrap=True)


@cache_app.command()
def check(as_json: AsJson = False, debug: Debug = False) -> None:
    """Read all that is kept, and remove what is damaged: it is built again."""
    with errors(debug):
        cache = _cache()
        damaged = list(cache.check())
        if as_json:
            found = [{**_plain(entry), "reason": reason} for entry, reason in damaged]
            print_json({"folder": str(cache.folder), "damaged": found})
        else:
            for entry, reason in damaged:
                out.print(Text(f"{entry.name}: {reason}", style="red"), soft_wrap=True)
            out.print(Text(f"{cache.folder}: {_sum(cache.entries())} sound"), soft_wrap=True)
        if damaged:
            raise typer.Exit(FAILED)


def _cache() -> Cache:
    cache = Cache.of_environment()
    if cache is None:
        raise WrongUse(f"the compile cache is off: {FOLDER} is {OFF}", fix=f"unset {FOLDER}")
    return cache


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if found is None:
        raise WrongUse(f"{text!r} is not a time", fix='write a number and its unit, as "90m", "12h" or "30d"')
    return float(found[1]) * _SECONDS[found[2]]


def _row(entry: Entry) -> Sequence[str]:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used_s))
    if entry.about is None:
        return entry.name, "damaged", "", "", _size(entry.nbytes), used
    models = ", ".join(Path(model).name for model in entry.about.models)
    return entry.name, entry.about.stage, ",".join(entry.about.gears), models, _size(entry.nbytes), used


def _plain(entry: Entry) -> dict[str, Any]:
    about = vars(entry.about) if entry.about else {"stage": None, "gears": [], "models": []}
    return {"name": entry.name, **about, "nbytes": entry.nbytes, "last_used_s": entry.last_used_s}


def _sum(entries: Sequence[Entry]) -> str:
    count = len(entries)
    return f"{count} stage{'s' if count != 1 else ''}, {_size(sum(entry.nbytes for entry in entries))}"


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e9:.1f} GB" if nbytes >= 1e9 else f"{nbytes / 1e6:.1f} MB"
