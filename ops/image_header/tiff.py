"""The header of a TIFF, whose form EXIF shares."""

from __future__ import annotations

import struct

import numpy as np

from ..spec import Array
from .header import ImageHeader, check_size, corrupt, cut_short, not_taken

# Tags; those of strips and tiles are their offsets and byte counts.
_WIDTH, _HEIGHT, _BITS, _PHOTOMETRIC, _PLANES, _SAMPLE_FORMAT = 256, 257, 258, 262, 284, 339
_STRIPS, _ROWS_PER_STRIP, _TILES, _TILE_WIDTH, _TILE_HEIGHT = (273, 279), 278, (324, 325), 322, 323
_ORIENTATION = 274
_TYPES = {1: "u1", 3: "u2", 4: "u4"}  # BYTE, SHORT, LONG
_RGB, _SEPARATE, _FLOAT = 2, 2, 3
_COLOURS = (0, 1, _RGB, 3, 5, 6)  # white is 0, black is 0, RGB, palette, CMYK, YCbCr


class _Directory:
    """The first image file directory: tag to values.

    Errors: struct.error where it ends behind the data.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.order = "<" if data[:2] == b"II" else ">"
        (start,) = struct.unpack_from(self.order + "I", data, 4)
        (count,) = struct.unpack_from(self.order + "H", data, start)
        table = struct.iter_unpack(self.order + "HHI4x", data[start + 2 : start + 2 + 12 * count])
        self._entries = {
            tag: (kind, number, start + 10 + 12 * index) for index, (tag, kind, number) in enumerate(table)
        }

    def values(self, tag: int) -> Array:
        """Whole numbers; none where the tag is missing or of another type."""
        kind, count, position = self._entries.get(tag, (0, 0, 0))
        if kind not in _TYPES:
            return np.empty(0, np.int64)
        dtype = np.dtype(self.order + _TYPES[kind])
        if count * dtype.itemsize > 4:
            (position,) = struct.unpack_from(self.order + "I", self.data, position)
        if position + count * dtype.itemsize > len(self.data):
            raise struct.error
        return np.frombuffer(self.data, dtype, count, position).astype(np.int64)

    def value(self, tag: int, default: int) -> int:
        values = self.values(tag)
        return int(values[0]) if len(values) else default

    def without(self, tag: int) -> bytes:
        """The file with this tag set to 1, which stands for nothing."""
        kind, _, position = self._entries[tag]
        one = np.array(1, self.order + _TYPES[kind]).tobytes()
        return self.data[:position] + one + self.data[position + len(one) :]


def exif_orientation(exif: bytes) -> int:
    """1 to 8; 1 where there is none, or the EXIF data is damaged: the pixels are good all the same."""
    if exif[:4] not in (b"II*\0", b"MM\0*"):
        return 1
    try:
        orientation = _Directory(exif).value(_ORIENTATION, 1)
    except struct.error:
        return 1
    return orientation if 1 <= orientation <= 8 else 1


def read_tiff(data: bytes, max_pixels: int) -> ImageHeader:
    """OpenCV applies the orientation of a TIFF even when told not to, so it is taken out of what is decoded."""
    directory = _Directory(data)
    width, height = directory.value(_WIDTH, 0), directory.value(_HEIGHT, 0)
    check_size("TIFF", width, height, max_pixels)
    deep = _check_samples(directory)
    _check_blocks(directory, width, height)
    orientation = directory.value(_ORIENTATION, 1)
    if orientation == 1:
        return ImageHeader("TIFF", width, height, 1, data, deep)
    return ImageHeader("TIFF", width, height, exif_orientation(data), directory.without(_ORIENTATION), deep)


def _check_samples(directory: _Directory) -> bool:
    """Whether they are 16-bit RGB, which OpenCV rounds; 16-bit grey it cuts.

    Errors: DecodeError for samples or colours that OpenCV releases treat differently, or not at all.
    """
    bits, formats = int(directory.values(_BITS).max(initial=1)), directory.values(_SAMPLE_FORMAT)
    if bits not in (1, 2, 4, 8, 16) or _FLOAT in formats:
        raise not_taken("TIFF", f"{bits}-bit {'float' if _FLOAT in formats else 'integer'} samples")
    if bits == 16 and directory.value(_PLANES, 1) == _SEPARATE:
        raise not_taken("TIFF", "16-bit samples in separate planes")  # OpenCV returns memory that it never wrote
    photometric = directory.value(_PHOTOMETRIC, 1)
    if photometric not in _COLOURS:
        raise not_taken("TIFF", f"photometric interpretation {photometric}, which is no grey, RGB, palette or CMYK")
    return photometric == _RGB and bits == 16


def _check_blocks(directory: _Directory, width: int, height: int) -> None:
    """Errors: DecodeError where strips or tiles are missing, end behind the data, or are far larger than the image."""
    across, down = directory.value(_TILE_WIDTH, 0), directory.value(_TILE_HEIGHT, 0)
    offsets, counts = _TILES if across else _STRIPS
    if not across:
        across, down = width, min(directory.value(_ROWS_PER_STRIP, height), height)
    if not 0 < across * down <= max(4 * width * height, 1 << 20):
        raise corrupt("TIFF", f"tiles of {across} x {down} pixels for an image of {width} x {height}")
    starts, sizes = directory.values(offsets), directory.values(counts)
    needed = -(-width // across) * -(-height // down)
    if len(starts) < needed:
        raise cut_short("TIFF", f"{len(starts)} of {needed} strips or tiles")
    end = int((starts + sizes if len(starts) == len(sizes) else starts).max())
    if end > len(directory.data):
        raise cut_short("TIFF", f"the pixels end at byte {end} of {len(directory.data)}")
