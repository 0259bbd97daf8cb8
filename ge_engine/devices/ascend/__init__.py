"""Ascend cards, through CANN's pyACL.

The .om files of a stage (see ge_engine.om) are loaded (loaded.py) and run in lanes (lane.py), two to a queue
(queue.py), with streams (stream.py) of cards (card.py), by a program (program.py) of the device (device.py). fits.py:
whether there is room. memory.py: pinned blocks, and what is copied. moments.py: when what was done. library.py: the
module `acl`, with meanings.py for its error codes.
"""

from .device import AscendDevice

__all__ = ["AscendDevice"]
