"""What the figures were made on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path

PACKAGES = ("gepipe", "numpy", "opencv-python-headless", "onnxruntime", "onnx", "pillow", "tritonclient")


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> dict[str, str]:
    """By words for people."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "CPU": f"{cores()} cores of {_cpu()}",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
        "Python": platform.python_version(),
        "packages": versions,
    }


def _cpu() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else platform.processor()


class Load:
    """What else the machine did: the share of its CPU time that other processes had, and what the host took away."""

    def __init__(self) -> None:
        self._begin = _ticks()

    def __str__(self) -> str:
        own, idle, stolen, total = (now - before for now, before in zip(_ticks(), self._begin))
        others = max(0.0, total - idle - stolen - own)
        shares = [f"{part / max(1, total):.0%}" for part in (others, stolen)]
        return f"{shares[0]} of the CPU time went to other processes, {shares[1]} to the machine's host"


def _ticks() -> tuple[float, float, float, float]:
    """Of this process and what it has waited for; idle; stolen; all: in clock ticks since the machine came up."""
    first = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    user, nice, system, idle, waiting, interrupts, soft, stolen = map(int, first[:8])
    own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
    total = user + nice + system + idle + waiting + interrupts + soft + stolen
    return own, idle + waiting, stolen, total
