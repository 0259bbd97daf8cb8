"""bench: how fast something answers, in perf_analyzer's words."""

from ..counters import Counters, Counts
from .measure import Client, Level, RequestFailed, Settings, Target, measure
from .report import Report, table
from .sweep import Files, concurrencies, sweep

__all__ = [
    "Client",
    "Counters",
    "Counts",
    "Files",
    "Level",
    "Report",
    "RequestFailed",
    "Settings",
    "Target",
    "concurrencies",
    "measure",
    "sweep",
    "table",
]
