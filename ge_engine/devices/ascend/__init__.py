"""Ascend cards, through CANN's pyACL.

The .om files of a stage (see ge_engine.om) are loaded (loaded.py) and run in lanes (lane.py), two to a queue
(queue.py), on cards (card.py), by a program (program.py) of the device (device.py). memory.py: pinned blocks, and what
is copied. library.py: the module `acl`, with meanings.py for its error codes. settings.py: how graphs are compiled.
"""

from .device import AscendDevice
from .settings import Settings

__all__ = ["AscendDevice", "Settings"]
