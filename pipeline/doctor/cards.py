"""Cards: their device files, who may use them, and their driver."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..triton.ascend import DEVICES
from .check import Check
from .machine import Machine

MANUAL = "hiascend.com, under Ascend HDK"
IN_CONTAINER = "start the container with the cards, as `gepipe serve REPOSITORY --print ascend` shows"


def device_files(machine: Machine) -> Check:
    """/dev/davinci0 and so on, and the three files that go with them."""
    missing = [name for name in DEVICES if not (machine.root / name.lstrip("/")).exists()]
    numbers = ",".join(path.name.removeprefix("davinci") for path in machine.cards)
    if machine.cards and not missing:
        return Check("cards", True, f"/dev/davinci{numbers}")
    lacking = [*([] if machine.cards else ["/dev/davinci0"]), *missing]
    seen = f"no {', '.join(lacking)}"
    on_bus = machine.on_bus
    if on_bus:
        seen += f"; the PCI bus has {on_bus}"
    fix = f"install the driver and firmware of the card ({MANUAL})"
    return Check(
        "cards", False, seen, IN_CONTAINER if machine.in_container else f"{fix}; in a container: {IN_CONTAINER}"
    )


def permissions(machine: Machine) -> Check:
    """Whether this user may read and write them."""
    files = [*machine.cards, *(machine.root / name.lstrip("/") for name in DEVICES)]
    closed = [path for path in files if path.exists() and not _usable(path)]
    if not closed:
        return Check("permissions", True, "this user may use the cards")
    seen = f"this user may not read and write {', '.join(f'/dev/{path.name}' for path in closed)}"
    return Check(
        "permissions", False, seen, f"sudo usermod -aG {_group(closed[0])} $USER, then log in again; or run as root"
    )


def _usable(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.R_OK | os.W_OK, effective_ids=effective)


def _group(path: Path) -> str:
    """Who owns the file; the driver's own group where that has no name or is root's."""
    try:
        group = path.group()
    except (KeyError, NotImplementedError):
        group = "root"
    return group if group != "root" else "HwHiAiUser"


def driver(machine: Machine) -> Check:
    """Its version, and the library that talks to the cards, which the toolkit does not bring."""
    folder = machine.driver
    try:
        text = (folder / "version.info").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^Version=(\S+)", text, re.MULTILINE)
    fix = f"install the driver ({MANUAL}); a container needs it mounted: --volume={folder}:{folder}:ro"
    if found is None:
        return Check("driver", False, f"no {folder}/version.info that says a version", fix)
    if not any((folder / place / "libascend_hal.so").exists() for place in ("lib64/driver", "lib64")):
        return Check("driver", False, f"{found[1]}, but no libascend_hal.so below {folder}/lib64", fix)
    return Check("driver", True, f"{found[1]} in {folder}")
