"""The Python that atc runs: `python3` of PATH, which need not be the one that gepipe runs in."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import NamedTuple

from ge_engine.om.cann import cann_version

from .cann import release
from .check import Check
from .machine import Machine

NEEDED = ("attrs", "cffi", "decorator", "numpy", "protobuf", "psutil", "pyyaml", "scipy", "sympy")
_ASK = f"""
import json, platform
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
print(json.dumps([platform.python_version(), dict((name, version(name)) for name in {NEEDED})]))
"""
_TIMEOUT_S = 30
Number = tuple[int, int]


class Accepts(NamedTuple):
    """From a CANN on: the newest Python, and the numpy below which it must be; None where any will do."""

    cann: Number
    python: Number
    numpy: Number | None


# The "runtime dependencies" of each CANN's own installation guide, oldest first; 8.1 as its users found it: its atc
# fails on Python 3.11. Before 8.5 the guides write numpy up to 1.24; what breaks is np.float_, which went with 2.0.
_ACCEPTS = (
    Accepts((0, 0), (3, 10), (2, 0)),
    Accepts((8, 2), (3, 11), (2, 0)),
    Accepts((8, 5), (3, 13), (2, 0)),
    Accepts((9, 0), (3, 11), None),
    Accepts((9, 1), (3, 14), None),
)
_OLDEST_PYTHON = (3, 7)
_NEEDS_NUMPY_2 = ((8, 5), (3, 13), (2, 1))  # CANN 8.5 takes Python 3.13, with numpy 2.1 or later only


def atc_python(machine: Machine) -> Check:
    """Its version, its numpy, and the packages that CANN's operators import."""
    python = shutil.which("python3")
    if python is None:
        return Check("atc's Python", False, "no python3 on PATH", "put one on PATH: atc runs its operators in it")
    try:
        said = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        ).stdout
        version, packages = json.loads(said)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Check("atc's Python", False, f"{python} does not run: {error}", "put another python3 first on PATH")
    return verdict(python, version, packages, cann_version(machine.root))


def verdict(python: str, version: str, packages: dict[str, str | None], cann: str) -> Check:
    """What CANN says of this Python and its packages."""
    numpy = packages["numpy"]
    seen = f"{python} is {version}, numpy {numpy or 'not installed'}, for CANN {cann}"
    missing = [name for name in NEEDED if not packages[name]]
    if missing:
        return Check("atc's Python", False, f"{seen}; not installed: {', '.join(missing)}", _pip(python, *missing))
    accepts = accepted_by(cann)
    if accepts is None:
        return Check("atc's Python", True, f"{seen}, of which it is not known what it takes")
    number = release(version) or (0, 0)
    if not _OLDEST_PYTHON <= number <= accepts.python:
        newest = ".".join(map(str, accepts.python))
        fix = f"put a Python up to {newest} first on PATH, as that of an environment: gepipe may run in it, too"
        return Check("atc's Python", False, f"{seen}, which takes 3.7 to {newest}", fix)
    wanted = _numpy_fault(number, release(str(numpy)) or (0, 0), accepts)
    if wanted:
        return Check("atc's Python", False, f"{seen}, which takes numpy{wanted}", _pip(python, f"'numpy{wanted}'"))
    return Check("atc's Python", True, seen)


def accepted_by(cann: str) -> Accepts | None:
    """None for a CANN whose version is not known."""
    number = release(cann)
    return max(row for row in _ACCEPTS if row.cann <= number) if number else None


def _numpy_fault(python: Number, numpy: Number, accepts: Accepts) -> str:
    """What numpy would have to be, if it is not."""
    cann, needs, at_least = _NEEDS_NUMPY_2
    if accepts.cann == cann and python >= needs:
        return "" if numpy >= at_least else f">={at_least[0]}.{at_least[1]}"
    return f"<{accepts.numpy[0]}" if accepts.numpy and numpy >= accepts.numpy else ""


def _pip(python: str, *names: str) -> str:
    return f"{python} -m pip install {' '.join(names)}"
