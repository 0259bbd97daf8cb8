"""doctor: is everything there, of the right make, and does it add up?

installation.py (gepipe itself, and what it stands on)  npu.py (which of the next are looked at): cards.py (devices and
driver)  cann.py (the toolkit)  atc_python.py (the Python that its compiler runs)  on_card.py (chip, operators, memory)
backend.py (Triton's npu_ge)  machine.py (where all that is)  tiny_sum.py (2 + 2 on a device)  assumed.py (what is taken
for granted of a card)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .check import Check
from .installation import examine_installation
from .machine import Machine
from .npu import examine_npu

__all__ = ["Check", "examine"]


def examine(root: Path = Path("/")) -> Iterator[Check]:
    """The installation, and the NPU where there is one.

    root: the folder below which devices, driver and CANN are looked for; what the environment names is taken as it is.
    """
    yield from examine_installation()
    yield from examine_npu(Machine(root))
