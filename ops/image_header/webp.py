"""The header of a WebP."""

from __future__ import annotations

import struct

from .header import ImageHeader, check_size, corrupt, cut_short
from .tiff import exif_orientation

_ANIMATION, _EXIF = 0x02, 0x08


def read_webp(data: bytes, max_pixels: int) -> ImageHeader:
    """The size is that of the canvas, where there is one."""
    (size,) = struct.unpack_from("<I", data, 4)
    chunk, end, flags = data[12:16], size + 8, 0
    if chunk == b"VP8 ":
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", data, 26))
    elif chunk == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif chunk == b"VP8X":
        flags = data[20]
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
    else:
        raise corrupt("WebP", f"the first chunk is {chunk!r}")
    check_size("WebP", width, height, max_pixels)
    if end > len(data):
        raise cut_short("WebP", f"{len(data)} bytes of {end}")
    orientation = _orientation(data, end) if flags & _EXIF else 1
    return ImageHeader("animated WebP" if flags & _ANIMATION else "WebP", width, height, orientation, data)


def _orientation(data: bytes, end: int) -> int:
    """From the EXIF chunk, which stands behind the pixels."""
    position = 12
    while position + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, position)
        if kind == b"EXIF":
            exif = data[position + 8 : position + 8 + length]
            return exif_orientation(exif[6:] if exif.startswith(b"Exif\0\0") else exif)
        position += 8 + length + length % 2
    return 1
