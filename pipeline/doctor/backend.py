"""Backend: Triton's npu_ge, where a server is installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .check import Check
from .machine import Machine

LIBRARY, OTHER_NAME = "libtriton_npu_ge.so", "libnpu_ge.so"


def backend(machine: Machine) -> Check:
    """The library of the backend, by the name that a server looks for."""
    servers = _servers(machine)
    if not servers:
        seen = "no tritonserver here; for an image that has it, see `gepipe serve REPOSITORY --print ascend`"
        return Check("npu_ge", True, seen)
    folder = servers[0] / "backends/npu_ge"
    if (folder / LIBRARY).exists():
        return Check("npu_ge", True, str(folder / LIBRARY))
    if (folder / OTHER_NAME).exists():
        seen = f"{folder / OTHER_NAME}, where a server looks for {LIBRARY}"
        return Check("npu_ge", False, seen, f"ln -s {OTHER_NAME} {folder / LIBRARY}")
    return Check("npu_ge", False, f"no {folder / LIBRARY}", "copy the backend there, or serve with its image")


def _servers(machine: Machine) -> list[Path]:
    """Where tritonserver is installed, in the order in which `gepipe serve` looks."""
    on_path = shutil.which("tritonserver")
    found = [
        Path(os.environ["TRITON_HOME_PATH"]) if os.environ.get("TRITON_HOME_PATH") else None,
        Path(os.path.realpath(on_path)).parents[1] if on_path else None,
        machine.root / "opt/tritonserver",
    ]
    return [home for home in found if home is not None and (home / "bin/tritonserver").exists()]
