"""The header of a PNG, and its critical chunks alone."""

from __future__ import annotations

import struct

from .header import ImageHeader, check_size, corrupt, cut_short
from .tiff import exif_orientation

_ANCILLARY = 0x20  # the bit that makes the first letter of a chunk's type a small one


def read_png(data: bytes, max_pixels: int) -> ImageHeader:
    """Ancillary chunks are left out of what is decoded.

    Text and colour profiles are inflated by libpng and may be bombs; transparency would be dropped anyway; the frames
    of an APNG are read by some OpenCV releases only.
    """
    length, kind, width, height = struct.unpack_from(">I4sII", data, 8)
    if length != 13 or kind != b"IHDR":
        raise corrupt("PNG", "it does not start with an IHDR chunk")
    check_size("PNG", width, height, max_pixels)
    view, critical, nbytes, orientation, position = memoryview(data), [], 0, 1, 8
    while kind != b"IEND":
        if position + 12 > len(data):
            raise cut_short("PNG", f"no IEND chunk in {len(data)} bytes")
        length, kind = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length
        if end > len(data):
            raise cut_short("PNG", f"a chunk ends at byte {end} of {len(data)}")
        if not kind[0] & _ANCILLARY:
            critical.append(view[position:end])
            nbytes += length
        elif kind == b"eXIf":
            orientation = exif_orientation(data[position + 8 : end - 4])
        position = end
    # 8 bytes a pixel is the most there is; what libpng inflates beyond the last row is time lost.
    if nbytes > 16 * width * height + 4096:
        raise corrupt("PNG", f"{nbytes} bytes for {width} x {height} pixels")
    return ImageHeader("PNG", width, height, orientation, b"".join((view[:8], *critical)))
