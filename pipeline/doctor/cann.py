"""CANN: the toolkit, whether the environment has it, all of it, and of one version; and its compiler."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from ge_engine.om.cann import cann_version, named_homes, usual_homes

from .check import Check
from .machine import Machine

OLDEST = (8, 0)
INSTALL = (
    "install the CANN toolkit and the operators of your chip (hiascend.com, under CANN), or use an image with them"
)
SET_ENV = "set_env.sh"


def release(version: str) -> tuple[int, int] | None:
    """Major and minor number.

    >>> release("8.3.RC1")
    (8, 3)
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


def toolkit(machine: Machine) -> Check:
    """Which CANN, where, and whether it is in the environment."""
    named = named_homes()
    for name, home in named.items():
        if not home.is_dir():
            return Check("CANN", False, f"{name} is {home}, which is not there", source_line(machine))
    if not named:
        places = ", ".join(map(str, usual_homes(machine.root)))
        return Check("CANN", False, f"{places or 'none'}; the environment names none", source_line(machine))
    version = cann_version(machine.root)
    number = release(version)
    seen = f"{version} in {next(iter(named.values()))}"
    return Check("CANN", number is None or number >= OLDEST, seen, "install CANN 8.0 or later")


def one_cann(machine: Machine) -> Check:
    """What the environment names belongs together."""
    named = {**named_homes(), **{key: Path(os.environ[key]) for key in ("ASCEND_OPP_PATH",) if os.environ.get(key)}}
    atc = shutil.which("atc")
    if atc is not None:
        named["atc"] = Path(atc)
    homes = {os.path.realpath(home) for home in named_homes().values()}
    strange = {name: path for name, path in named.items() if homes and not _within(path, homes)}
    seen = ", ".join(f"{name} is {path}" for name, path in strange.items())
    if "ASCEND_OPP_PATH" not in named:
        return Check("environment", False, "ASCEND_OPP_PATH, the operators, is not set", source_line(machine))
    if strange or len(homes) > 1:
        seen = seen or ", ".join(f"{name} is {path}" for name, path in named.items())
        return Check(
            "environment", False, f"of more than one CANN: {seen}", f"in a new shell, once: {source_line(machine)}"
        )
    return Check("environment", True, "all of one CANN")


def _within(path: Path, homes: set[str]) -> bool:
    """As it is written, or where its links lead: `latest` may be a folder of links into a version's own."""
    above = [*path.parents, path, *Path(os.path.realpath(path)).parents]
    return any(os.path.realpath(folder) in homes for folder in above)


def compiler(machine: Machine) -> Check:
    """`atc`, by PATH."""
    atc = shutil.which("atc")
    return Check("atc", atc is not None, atc or "not on PATH", source_line(machine))


def source_line(machine: Machine) -> str:
    """The line that brings a toolkit into the environment, with the file that is there."""
    for home in [*(home for home in named_homes().values() if home.is_dir()), *usual_homes(machine.root)]:
        for folder in (home, home.parent):
            if (folder / SET_ENV).exists():
                return f"source {folder / SET_ENV}"
    return INSTALL
