"""The header of a BMP."""

from __future__ import annotations

import struct

from .header import ImageHeader, check_size, cut_short

_RUN_LENGTH = (1, 2)


def read_bmp(data: bytes, max_pixels: int) -> ImageHeader:
    """The size, and whether all rows are there."""
    offset, header = struct.unpack_from("<II", data, 10)
    compression = nbytes = 0
    if header == 12:  # OS/2
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
    else:
        width, height, _, bits, compression, nbytes = struct.unpack_from("<iiHHII", data, 18)
    height = abs(height)  # negative: the first row is the top one
    check_size("BMP", width, height, max_pixels)
    if compression not in _RUN_LENGTH:
        nbytes = (width * bits + 31) // 32 * 4 * height
    if offset + nbytes > len(data):
        raise cut_short("BMP", f"the pixels end at byte {offset + nbytes} of {len(data)}")
    return ImageHeader("BMP", width, height, 1, data)
