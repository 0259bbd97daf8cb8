"""dump: what a pipeline is after each pass, and every value that its samples have on their way, as files."""

from .data import Dump
from .graphs import dump_graph

__all__ = ["Dump", "dump_graph"]
