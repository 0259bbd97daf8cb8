"""Fixtures: the simulators in place of CANN. A conftest.py takes them by `from acl_sim.fixtures import npu as npu`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .world import World

HERE = Path(__file__).resolve().parents[1]
Npu = Callable[..., World]


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Npu]:
    """Call it with the arguments of World: from then on `import acl` is that world, and `atc` is on PATH.

    At the end no rule was broken and nothing is left; `world.allow = True` lets a test break rules.
    """
    worlds: list[World] = []

    def install(**arguments: Any) -> World:
        world = World(**arguments)
        worlds.append(world)
        monkeypatch.setitem(sys.modules, "acl", world.module())
        put_atc_on_path(monkeypatch)
        return world

    yield install
    for world in worlds:
        assert world.allow or not world.violations, world.violations
        assert world.allow or not world.leaks(), world.leaks()


def put_atc_on_path(monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
    """settings: see atc_sim.main."""
    monkeypatch.setenv("PATH", str(HERE / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("ATC_SIM_PYTHON", sys.executable)
    monkeypatch.setenv("ATC_SIM", json.dumps(settings))


def environment(**settings: object) -> dict[str, str]:
    """For a process of its own: `acl` is the simulator there, `atc` is on its PATH. settings: see process.module."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE / "site"), os.environ.get("PYTHONPATH")))),
        "PATH": os.pathsep.join((str(HERE / "bin"), os.environ["PATH"])),
        "ATC_SIM_PYTHON": sys.executable,
        "ACL_SIM": json.dumps(settings),
    }
