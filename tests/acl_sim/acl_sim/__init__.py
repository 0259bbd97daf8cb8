"""A strict simulator of CANN's Python module `acl`: it refuses what a card would, and more."""

from .timing import Timing
from .violation import Violation
from .world import World

__all__ = ["Timing", "Violation", "World"]
