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
