"""npu-smi: how busy the AI cores of this machine are."""

from __future__ import annotations

import re
import shutil
import subprocess

PROGRAM = "npu-smi"
_TIMEOUT_S = 10

# A chip has two rows: "| NPU Name | Health | ...", then "| Chip ... | Bus-Id | AICore(%) Memory-Usage(MB) ... |".
_CHIP = re.compile(
    r"^\s*\|\s*(?P<npu>\d+)\s+\S+\s*\|[^|\n]*\|[^|\n]*\|\s*\n"
    r"\s*\|\s*(?P<chip>\d+)(?:\s+\d+)?\s*\|\s*(?:NA|[0-9A-Fa-f]{4}:[0-9A-Fa-f:.]+)\s*\|\s*(?P<used>\d+)\s",
    re.MULTILINE,
)


def available() -> bool:
    """Whether this machine has the program."""
    return shutil.which(PROGRAM) is not None


def usage() -> dict[str, float]:
    """The use of each chip now, in percent, by "NPU.chip"; nothing where that cannot be had."""
    try:
        run = subprocess.run([PROGRAM, "info"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return parse(run.stdout)


def parse(text: str) -> dict[str, float]:
    """What `npu-smi info` prints."""
    return {f"{match['npu']}.{match['chip']}": float(match["used"]) for match in _CHIP.finditer(text)}
