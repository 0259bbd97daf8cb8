"""Manifest: what a stage was made into, as JSON beside its graphs, and whether they are still what was written.

The manifest carries its own digest. Graphs are small: their digests are compared each time they are taken. Weights, and
what holds them, can be a hundred times as large, so theirs are compared where size or date are not as written, and by a
`thorough` read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..gears import Gear
from ..stage import Found, Made, StaticGraph
from .digests import sha256
from .folders import IN_USE

MANIFEST = "manifest.json"
HEAVY = (".weights", ".om", ".pb", ".bin")


class Damaged(Exception):
    """An entry is not what was written."""


@dataclass(frozen=True)
class About:
    """For people: which stage it is, in which gears, of which models."""

    stage: str
    gears: tuple[str, ...]
    models: tuple[str, ...]


def write(folder: Path, key: str, about: About, made: Made) -> None:
    """Describe what lies in a folder. Errors: OSError."""
    files = {}
    for path in sorted(folder.iterdir()):
        if path.name != IN_USE:
            if path.suffix in HEAVY:
                _to_disk(path)
            status = path.stat()
            files[path.name] = [sha256(path), status.st_size, status.st_mtime_ns]
    content = {"key": key, "about": vars(about), "files": files, "made": _made_to_json(made)}
    document = {"sha256": _digest(content), "content": content}
    (folder / MANIFEST).write_text(json.dumps(document, indent=1), encoding="ascii")


def read(folder: Path, key: str, *, thorough: bool = False) -> Made:
    """What was made, once all of it is found to be as it was written. Errors: Damaged."""
    content = _content(folder)
    with _own_form():
        if content["key"] != key:
            raise Damaged(f"it is the entry {content['key'][:12]}")
        there = set(os.listdir(folder)) - {MANIFEST, IN_USE}
        if there != set(content["files"]):
            raise Damaged(f"{', '.join(sorted(there ^ set(content['files'])))} should be there, or should not")
        for name, (digest, nbytes, mtime_ns) in content["files"].items():
            _check(folder / name, digest, nbytes, mtime_ns, thorough)
        return _made_from_json(content["made"], folder)


def about(folder: Path) -> About:
    """Errors: Damaged."""
    content = _content(folder)
    with _own_form():
        return About(**{name: _tuples(value) for name, value in content["about"].items()})


@contextmanager
def _own_form() -> Iterator[None]:
    """A manifest may be whole, and of a gepipe that writes other fields. Errors: Damaged."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise Damaged(f"{MANIFEST} is not of this version: {error}") from error


def _content(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / MANIFEST).read_bytes())
        content: dict[str, Any] = document["content"]
        sound = document["sha256"] == _digest(content)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(f"{MANIFEST} cannot be read: {error}") from error
    if not sound:
        raise Damaged(f"{MANIFEST} is not as it was written")
    return content


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check(path: Path, digest: str, nbytes: int, mtime_ns: int, thorough: bool) -> None:
    try:
        status = path.stat()
        if status.st_size != nbytes:
            raise Damaged(f"{path.name} has {status.st_size} bytes, {nbytes} were written")
        dated = status.st_mtime_ns == mtime_ns
        if dated and path.suffix in HEAVY and not thorough:
            return
        if sha256(path) != digest:
            raise Damaged(f"{path.name} is not as it was written")
        if not dated:  # copied, or put back: it need not be read again the next time
            with suppress(OSError):
                os.utime(path, ns=(mtime_ns, mtime_ns))
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read: {error}") from error


def _to_disk(path: Path) -> None:
    """What is not read to be checked must not be lost when the power fails."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _made_to_json(made: Made) -> dict[str, Any]:
    return {
        "static": [
            [[gear.batch, gear.dims, gear.index], Path(graph.path).name, graph.inputs, graph.outputs]
            for gear, graph in made.static.items()
        ],
        "shared": [[dims, Path(path).name] for dims, path in made.shared.items()],
        "shared_deviation": made.shared_deviation,
        "mixing_node": made.mixing_node,
        "dynamic": made.dynamic,
        "found": [vars(found) for found in made.found],
    }


def _made_from_json(content: dict[str, Any], folder: Path) -> Made:
    static = {}
    for gear_fields, name, inputs, outputs in _tuples(content["static"]):
        gear = Gear(*gear_fields)
        static[gear] = StaticGraph(gear, str(folder / name), inputs, outputs)
    return Made(
        static,
        {dims: str(folder / name) for dims, name in _tuples(content["shared"])},
        content["shared_deviation"],
        content["mixing_node"],
        _tuples(content["dynamic"]),
        tuple(Found(**found) for found in content["found"]),
    )


def moved(made: Made, folder: Path) -> Made:
    """The same, where its files lie now."""
    return replace(
        made,
        static={gear: replace(graph, path=str(folder / Path(graph.path).name)) for gear, graph in made.static.items()},
        shared={dims: str(folder / Path(path).name) for dims, path in made.shared.items()},
    )


def _tuples(value: Any) -> Any:
    """JSON's lists, as the tuples that they were."""
    return tuple(map(_tuples, value)) if isinstance(value, Sequence) and not isinstance(value, str) else value
