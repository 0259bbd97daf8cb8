"""The Python that the server runs host stages with: an environment of its own, with numpy 1 and OpenCV.

The server's stubs are linked with one Python release each, ignore PYTHONPATH, and need numpy 1. They take the
environment whose `python3` comes first in PATH, if the loader finds the libpython of that release. gepipe's own
environment will not do: it may hold numpy 2.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ge_engine.cache import cache_folder
from ops.errors import ServerError

from .find_server import Installation
from .installed import made_once, pip_install
from .malloc import KEEP_FREED

_OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
_PROBE = """
import json, sys, sysconfig
from pathlib import Path
release = "%d.%d" % sys.version_info[:2]
folder = Path(sysconfig.get_config_var("LIBDIR") or "")
places = [folder, folder / (sysconfig.get_config_var("MULTIARCH") or ""), Path(sys.base_prefix) / "lib"]
library = [str(path) for path in (place / f"libpython{release}.so.1.0" for place in places) if path.exists()]
try:
    from importlib.metadata import version
    numpy = version("numpy")
except Exception:
    numpy = None
print(json.dumps({"release": release, "library": library[:1], "numpy": numpy}))
"""


@dataclass(frozen=True)
class StubEnvironment:
    """An environment, the Python release in it, and the libpython of that release."""

    prefix: Path
    release: str
    library: Path

    @property
    def bin(self) -> Path:
        return self.prefix / "bin"

    def variables(self, folder: Path, libraries: Sequence[Path]) -> dict[str, str]:
        """The environment variables of a server whose stubs use this environment.

        folder: new; for the one library that the loader has to find. libraries: the server's own.
        """
        folder.mkdir()
        (folder / self.library.name).symlink_to(self.library)  # its own folder may hold others that do harm
        before = os.environ.get("LD_LIBRARY_PATH")
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
        return {
            **KEEP_FREED,
            **kept,
            "PATH": os.pathsep.join([str(self.bin), os.environ.get("PATH", os.defpath)]),
            "LD_LIBRARY_PATH": os.pathsep.join([*map(str, (folder, *libraries)), *([before] if before else [])]),
        }


def stub_environment(
    server: Installation,
    given: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    *,
    frozen: bool = False,
) -> StubEnvironment:
    """The environment that was given, if the server can use it; else one in the user's cache, made if need be.

    frozen: TensorFlow graphs are to run in it, which takes OpenVINO.
    Errors: ServerError, with what was looked at.
    """
    releases = list(server.stubs())
    if not releases:
        fix = "use a server with the Python backend for Python 3.10 or newer"
        raise ServerError(f"the server in {server.home} cannot run Python models", fix=fix)
    if given is not None:
        return _check(given, releases)
    python, release = _interpreter(releases)
    wanted = _requirements(release, frozen)
    key = hashlib.sha256(" ".join([str(python), *wanted]).encode()).hexdigest()[:8]

    def make(folder: Path) -> None:
        say(f"making an environment for host stages, Python {release}: {', '.join(wanted)}")
        command: list[str | Path] = [python, "-m", "venv", "--without-pip", folder]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            reason = (made.stderr or made.stdout).strip()
            raise ServerError(f"{python} makes no environment: {reason}", fix="install its venv module")
        pip_install(wanted, python=folder / "bin" / "python3")

    return _check(made_once(cache_folder() / f"serve-{release}-{key}", make), releases)


def _requirements(release: str, frozen: bool) -> list[str]:
    """The same runtimes as here where that can be: their answers are to be the same bytes."""
    runtimes = ["onnxruntime", *(["openvino"] if frozen else [])]
    if release == _OWN:
        runtimes = [f"{name}=={importlib.metadata.version(name)}" if find_spec(name) else name for name in runtimes]
    # onnx is for the stand-in, where it emulates a precision or dumps what is inside a graph.
    return ["numpy>=1.23.5,<2", "opencv-python-headless>=4.10,<4.12", *runtimes, "onnx>=1.17"]


def _check(prefix: Path, releases: list[str]) -> StubEnvironment:
    python = prefix / "bin" / "python3"
    seen = _probe(python)
    if seen is None:
        raise ServerError(f"{python} does not run", fix="give the folder of an environment, which holds bin/python3")
    if seen["release"] not in releases:
        fix = f"give one of Python {', '.join(releases)}"
        raise ServerError(f"{prefix} has Python {seen['release']}, for which the server has no stub", fix=fix)
    if not seen["library"]:
        raise ServerError(f"{prefix}: there is no libpython{seen['release']}.so.1.0", fix=_library_fix(seen["release"]))
    if not (seen["numpy"] or "").startswith("1."):
        fix = "install 'numpy<2' into it"
        has = f"numpy {seen['numpy']}" if seen["numpy"] else "no numpy"
        raise ServerError(f"{prefix} has {has}; the server's stubs need numpy 1", fix=fix)
    return StubEnvironment(prefix.absolute(), seen["release"], Path(seen["library"][0]))


def _interpreter(releases: list[str]) -> tuple[Path, str]:
    """A Python of a release that the server has a stub for, with its libpython; this process's release if it can be."""
    lacking = []
    for release, python in _candidates(releases):
        seen = _probe(python)
        if seen is None or seen["release"] != release:
            continue
        if seen["library"]:
            return python, release
        lacking.append(release)
    if lacking:
        raise ServerError(f"there is no libpython{lacking[0]}.so.1.0 on this machine", fix=_library_fix(lacking[0]))
    fix = f"install python{releases[0]} and its libpython, or name an environment: --environment"
    raise ServerError(f"there is no Python {' or '.join(releases)} here, which the server could run", fix=fix)


def _candidates(releases: list[str]) -> Iterator[tuple[str, Path]]:
    if _OWN in releases:
        yield _OWN, Path(sys.base_prefix) / "bin" / f"python{_OWN}"
    for release in sorted(releases, key=lambda name: name != _OWN):
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            python = Path(folder) / f"python{release}"
            if os.access(python, os.X_OK):
                yield release, python


def _probe(python: Path) -> dict[str, Any] | None:
    """What an interpreter says about itself; None if it does not run."""
    try:
        told = subprocess.run([python, "-I", "-c", _PROBE], capture_output=True, text=True, check=True, timeout=60)
        seen = json.loads(told.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return seen if isinstance(seen, dict) else None


def _library_fix(release: str) -> str:
    return f"install it: apt-get install libpython{release}, or build that Python with --enable-shared"
