"""The header of a GIF, and its first frame alone."""

from __future__ import annotations

import struct

from .header import ImageHeader, check_size, corrupt

_EXTENSION, _IMAGE, _CONTROL = 0x21, 0x2C, 0xF9
_TRANSPARENT = 0x01


def read_gif(data: bytes, max_pixels: int) -> ImageHeader:
    """Later frames are left out of what is decoded, and no colour is transparent: alpha is dropped, not composited."""
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    check_size("GIF", width, height, max_pixels)
    position, control = 13 + _table(flags), None
    while data[position] == _EXTENSION:
        if data[position + 1] == _CONTROL:
            control = position + 3
        position = _skip_blocks(data, position + 2)
    if data[position] != _IMAGE:
        raise corrupt("GIF", "it has no frame")
    end = _skip_blocks(data, position + 11 + _table(data[position + 9]))
    frame = bytearray(data[:end])
    if control is not None:
        frame[control] &= ~_TRANSPARENT
    return ImageHeader("GIF", width, height, 1, bytes(frame) + b";")


def _table(flags: int) -> int:
    """The bytes of the colour table that these flags announce."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _skip_blocks(data: bytes, position: int) -> int:
    """Behind the sub-blocks that start here."""
    while data[position]:
        position += data[position] + 1
    return position + 1
