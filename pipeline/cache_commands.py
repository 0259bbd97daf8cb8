"""The commands for the compile cache."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table
from rich.text import Text

from ge_engine.cache import Cache, Entry
from ge_engine.cache.store import FOLDER, OFF, said
from ops import WrongUse

from .command import FAILED, AsJson, Debug, app, errors, note, out, print_json

cache_app = typer.Typer(help="Look at the compile cache, or clear it.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")

_CUT = ("stage", "gears", "models")
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
            out.print(_table(entries))
        _skip(cache)
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
        seconds = _seconds(older_than) if older_than is not None else 0
        stay: list[tuple[Entry, OSError | None]] = []
        gone = cache.clear(seconds, lambda entry, error: stay.append((entry, error)))
        if as_json:
            print_json({"folder": str(cache.folder), "removed": list(map(_plain, gone))})
        else:
            out.print(Text(f"{cache.folder}: {_sum(gone)} removed"), soft_wrap=True)
        _skip(cache)
        for entry, error in stay:
            whose = f"it is {entry.owner}'s" if entry.owner else said(error) if error else "a running process uses it"
            note(f"{entry.name} stays: {whose}")
        if any(error is not None and not entry.owner for entry, error in stay):
            raise typer.Exit(FAILED)


@cache_app.command()
def check(as_json: AsJson = False, debug: Debug = False) -> None:
    """Read all that is kept, and remove what is damaged: it is built again."""
    with errors(debug):
        cache = _cache()
        damaged = list(cache.check())
        if as_json:
            found = [{**_plain(entry), "reason": reason, "removed": gone} for entry, reason, gone in damaged]
            print_json({"folder": str(cache.folder), "damaged": found})
        else:
            for entry, reason, gone in damaged:
                fate = "removed" if gone else "not removed: it is in use, or is not this user's to remove"
                out.print(Text(f"{entry.name}: {reason}: {fate}", style="red"), soft_wrap=True)
            _skip(cache)
            bad = {entry.key for entry, _, _ in damaged}
            sound = [entry for entry in cache.entries() if entry.key not in bad]
            out.print(Text(f"{cache.folder}: {_sum(sound)} sound, {len(damaged)} damaged"), soft_wrap=True)
        if damaged:
            raise typer.Exit(FAILED)


def _cache() -> Cache:
    cache = Cache.of_environment()
    if cache is None:
        raise WrongUse(f"the compile cache is off: {FOLDER} is {OFF}", fix=f"unset {FOLDER}")
    if cache.folder.exists() and not cache.folder.is_dir():
        raise WrongUse(f"{FOLDER} names {cache.folder}, which is a file", fix=f"name a folder, or {OFF}")
    return cache


def _skip(cache: Cache) -> None:
    for name, owner in cache.unreadable().items():
        note(f"{name} is skipped: it is {owner}'s, and cannot be read")


def _table(entries: Sequence[Entry]) -> Table:
    """A line an entry: what is too long is cut."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "stage", "gears", "models", "size", "last used"):
        table.add_column(heading, no_wrap=heading not in _CUT)
    for entry in entries:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in _row(entry)))
    return table


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
