"""The header of a JPEG: marker segments up to the first scan."""

from __future__ import annotations

import struct

from .header import ImageHeader, check_size, corrupt, cut_short
from .tiff import exif_orientation

_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0..SOF15 without DHT, JPG, DAC
_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_ARITHMETIC = frozenset(range(0xC9, 0xD0))
_ALONE = frozenset({0x00, 0x01, *range(0xD0, 0xD9)})  # not followed by a length
_EXIF, _SCAN, _END = 0xE1, 0xDA, 0xD9
MAX_SCANS = 64  # encoders write about 10; each costs a pass over the whole image


def read_jpeg(data: bytes, max_pixels: int) -> ImageHeader:
    """Everything up to the first scan; of the scans, whether they end and how many there are."""
    position, orientation, frame = 2, None, None
    while True:
        marker, position = _next_marker(data, position)
        if marker in _ALONE:
            continue
        if marker == _END:
            raise corrupt("JPEG", "it ends before its image begins")
        (length,) = struct.unpack_from(">H", data, position)
        if marker == _EXIF and orientation is None and data.startswith(b"Exif\0\0", position + 2):
            orientation = exif_orientation(data[position + 8 : position + length])
        elif marker in _SIZES and frame is None:
            height, width, components = struct.unpack_from(">HHB", data, position + 3)
            check_size("JPEG", width, height, max_pixels)
            frame = marker, width, height, components
        elif marker == _SCAN:
            break
        position += length
    if frame is None:
        raise corrupt("JPEG", "no frame header before the first scan")
    marker, width, height, components = frame
    one_scan = marker not in _PROGRESSIVE and data[position + 2] == components
    _check_scans(data, position + length, width * height, marker, one_scan)
    return ImageHeader("JPEG", width, height, orientation or 1, data)


def _next_marker(data: bytes, position: int) -> tuple[int, int]:
    """The next marker and where its segment starts; bytes in between are skipped, as libjpeg does."""
    position = data.find(b"\xff", position)
    if position < 0:
        raise IndexError
    while data[position] == 0xFF:
        position += 1
    return data[position], position + 1


def _check_scans(data: bytes, start: int, pixels: int, marker: int, one_scan: bool) -> None:
    """Errors: DecodeError where pixels are missing, which decoders replace by grey, or passes are too many."""
    # Inside a scan 0xFF is always stuffed, so this is no pixel data; a thumbnail's end marker is before `start`.
    # From the back, because there it stands in a whole file; what may follow it does no harm.
    if data.rfind(b"\xff\xd9", start) < 0:
        raise cut_short("JPEG", f"no end-of-image marker in {len(data)} bytes")
    # A Huffman code has a bit at least, and each block of 8 x 8 pixels has one for its mean.
    if pixels > 512 * (len(data) - start) and marker not in _ARITHMETIC:
        raise cut_short("JPEG", f"{len(data) - start} bytes cannot hold {pixels} pixels")
    if not one_scan:
        scans = 1 + data.count(b"\xff\xda", start, data.find(b"\xff\xd9", start))
        if scans > MAX_SCANS:
            raise corrupt("JPEG", f"{scans} scans, at most {MAX_SCANS} are taken")
