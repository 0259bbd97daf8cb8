"""Cores: how many there are to compute on, and what is said of those of an NPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Union

Cores = Union[str, Mapping[str, str], None]  # "cube|vector" for all graphs, or for each Model by its name; None: all


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
