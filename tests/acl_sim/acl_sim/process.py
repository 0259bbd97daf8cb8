"""The simulator in a process of its own: settings from the environment, a report at its end."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .world import World

BROKEN = 86  # exit code of a process that broke a rule or left something behind

_worlds: list[tuple[World, str | None]] = []


def module() -> ModuleType:
    """ACL_SIM: {"world": arguments of World, "faults": [arguments of World.fail], "report": a file}."""
    settings = json.loads(os.environ.get("ACL_SIM", "{}"))
    world = World(**settings.get("world", {}))
    for fault in settings.get("faults", ()):
        world.fail(**fault)
    _worlds.append((world, settings.get("report")))
    return world.module()


def report(world: World) -> dict[str, Any]:
    return {"violations": world.violations, "leaks": world.leaks(), "counts": dict(world.counts)}


def report_all() -> None:
    """At the end of the process: site/sitecustomize.py calls it."""
    for world, path in _worlds:
        _report(world, path)


def _report(world: World, path: str | None) -> None:
    found = report(world)
    if path:
        Path(path).write_text(json.dumps(found), encoding="utf-8")
    broken = found["violations"] + [f"leak: {leak}" for leak in found["leaks"]]
    if broken:
        print("acl_sim:", *broken, sep="\n  ", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(BROKEN)
