"""The folder of backends that a server is given, and which npu_ge is in it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import ge_engine
import ops
from ge_engine.npu_ge.command_line import CommandLine

from .find_server import STUB, Installation

STAND_IN = Path(ge_engine.__file__).parent / "npu_ge"
_REAL = ("libtriton_npu_ge.so", "libnpu_ge.so")
_PYTHON = "python"
_NPU_GE = "npu_ge"


@dataclass(frozen=True)
class BackendDirectory:
    """Where the backends are, and whether npu_ge is the real library."""

    path: Path
    real: bool

    def __str__(self) -> str:
        return "the real library" if self.real else "the stand-in, which runs on the CPU"


def backend_directory(
    server: Installation, release: str, folder: Path, settings: CommandLine, stand_in: Path = STAND_IN
) -> BackendDirectory:
    """The server's own backends, where the real npu_ge is among them; else a folder with the stand-in.

    release: of the Python whose stub is to run Python models. settings: of the server's command line; Triton does not
    tell them to a backend in Python.
    """
    if any((server.backends / _NPU_GE / name).exists() for name in _REAL):
        return BackendDirectory(server.backends, real=True)
    folder.mkdir(parents=True)
    for backend in sorted(server.backends.iterdir()):
        if backend.is_dir() and backend.name not in (_PYTHON, _NPU_GE):
            (folder / backend.name).symlink_to(backend)
    shutil.copytree(server.backends / _PYTHON, folder / _PYTHON)
    program = folder / _PYTHON / STUB
    shutil.copyfile(server.stubs()[release], program)
    program.chmod(0o755)
    _stand_in(folder / _NPU_GE, stand_in)
    settings.write(folder / _NPU_GE)
    return BackendDirectory(folder, real=False)


def _stand_in(folder: Path, source: Path) -> None:
    """model.py, and beside it what it imports: alone, so that nothing else of this environment comes with it."""
    folder.mkdir()
    shutil.copyfile(source / "model.py", folder / "model.py")
    for package in (ops, ge_engine):
        home = Path(str(package.__file__)).parent
        (folder / home.name).symlink_to(home)
