"""NPU: what is looked at where there is one, in the order in which one thing needs the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from .atc_python import atc_python
from .backend import backend
from .cann import compiler, one_cann, toolkit
from .cards import device_files, driver, permissions
from .check import Check
from .machine import Machine
from .on_card import examine_cards, pyacl


def examine_npu(machine: Machine) -> Iterator[Check]:
    """Cards, driver, CANN and what its compiler needs, then what the cards say; one line where there is no NPU."""
    if not machine.has_npu():
        yield Check("npu", True, "none here: no card, no driver, no CANN; cpu and null are the devices")
        return
    yield device_files(machine)
    if machine.cards:
        yield permissions(machine)
    yield driver(machine)
    yield toolkit(machine)
    yield one_cann(machine)
    yield compiler(machine)
    if shutil.which("atc") is not None:
        yield atc_python(machine)
    library, check = pyacl(machine)
    yield check
    if library is not None:
        yield from examine_cards(machine, library)
    yield backend(machine)
