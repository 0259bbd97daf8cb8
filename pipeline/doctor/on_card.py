"""On the card: pyACL, the chip by its own word, the operators for it, its memory, and a sum."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ge_engine.devices.ascend.card import Card
from ge_engine.devices.ascend.library import Library, library
from ge_engine.om.cann import named_homes
from ops import DeviceError

from .assumed import assumed
from .cann import INSTALL, source_line
from .check import Check
from .machine import Machine
from .tiny_sum import tiny_sum

_LEAST = 1 << 30
_VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


def pyacl(machine: Machine) -> tuple[Library | None, Check]:
    """The module `acl`: imported, and initialised in this process."""
    try:
        found = library()
    except DeviceError as error:
        fix = error.fix
        if "libascend_hal" in error.message:  # of the driver, not of CANN
            folder = machine.driver / "lib64"
            fix = f"put the driver's libraries on LD_LIBRARY_PATH: {folder}/driver:{folder}/common"
        elif not named_homes():  # then all of CANN is missing, for one reason
            fix = source_line(machine)
        return None, Check("pyACL", False, error.message, fix)
    seen = "imported and initialised"
    return found, Check("pyACL", True, f"{seen}, by another library in this process" if found.shared else seen)


def examine_cards(machine: Machine, acl: Library) -> Iterator[Check]:
    """What the cards themselves say."""
    try:
        count, soc = int(acl.get("rt.get_device_count")), str(acl.value("get_soc_name") or "")
    except DeviceError as error:
        yield Check("chip", False, error.message, error.fix)
        return
    yield chip(machine, count, soc)
    if not count or not soc:
        return
    yield op_package(machine, soc)
    for number in range(count):
        yield memory(acl, number)
    if shutil.which("atc") is not None:
        whole = tiny_sum("npu:0")
        yield whole
        if whole.ok:
            yield from assumed(range(count))


def chip(machine: Machine, count: int, soc: str) -> Check:
    """How many cards CANN sees, and what they are."""
    seen = f"{count} x {soc or 'a chip without a name'}"
    visible = os.environ.get(_VISIBLE)
    if visible is not None:
        seen += f", with {_VISIBLE}={visible}"
    if count and soc:
        return Check("chip", True, seen)
    fix = f"unset {_VISIBLE}, or name cards that are there" if visible is not None else "look at npu-smi info and dmesg"
    return Check("chip", False, seen, fix)


def op_package(machine: Machine, soc: str) -> Check:
    """Whether CANN knows the chip, and has its operators: they are a package of their own since 8.5."""
    homes = machine.homes
    notes = [note for home in homes for note in _platforms(home, soc)]
    where = ", ".join(map(str, homes)) or "no CANN"
    if not notes:
        return Check("operators", False, f"no platform_config/{soc}.ini in {where}: it does not know {soc}", INSTALL)
    text = notes[0].read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^Short_SoC_version=(\S+)", text, re.MULTILINE)
    folder = (found[1] if found else soc).lower()
    for opp in _operators(homes):
        config = opp / "built-in/op_impl/ai_core/tbe/config" / folder
        if any(config.glob("aic-*.json")):
            return Check("operators", True, f"for {soc} in {opp}")
    seen = f"none for {soc} ({folder}) in {', '.join(map(str, _operators(homes)))}"
    fix = f"install CANN's operators for {folder.removeprefix('ascend')}, of the toolkit's version: Ascend-cann-*-ops"
    return Check("operators", False, seen, fix)


def _platforms(home: Path, soc: str) -> list[Path]:
    return [
        path for place in ("*-linux", "compiler", ".") for path in home.glob(f"{place}/data/platform_config/{soc}.ini")
    ]


def _operators(homes: list[Path]) -> list[Path]:
    named = os.environ.get("ASCEND_OPP_PATH")
    return [Path(named)] if named else [home / "opp" for home in homes]


def memory(acl: Library, number: int) -> Check:
    """Free and whole memory of a card, for which it is opened."""
    name = f"memory npu:{number}"
    card: Card | None = None
    try:
        card = Card(acl, number)
        free, total = card.memory()
    except DeviceError as error:
        return Check(name, False, error.message, error.fix)
    finally:
        if card is not None:
            card.close()
    seen = f"{free / _LEAST:.1f} of {total / _LEAST:.1f} GiB free"
    return Check(name, free >= _LEAST, seen, "stop what else runs on the card: npu-smi info names the processes")
