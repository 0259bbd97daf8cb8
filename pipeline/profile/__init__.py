"""profile: what a session does, and how long it takes: statistics, traces, metrics."""

from .recorder import Recorder
from .stats import Row, Stats, stats
from .trace import Trace

__all__ = ["Recorder", "Row", "Stats", "Trace", "stats"]
