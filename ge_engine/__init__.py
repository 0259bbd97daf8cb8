"""Models, gears, static graphs, buffers, streams and devices."""

from .gears import Gear, Gears
from .model import Model, Outputs

__all__ = ["Gear", "Gears", "Model", "Outputs"]
