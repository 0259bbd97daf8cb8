"""The header of a TIFF, whose form EXIF shares."""

from __future__ import annotations

import struct

import numpy as np

from ..spec import Array
from .header import ImageHeader, check_size, corrupt, cut_short, not_taken

_WIDTH, _HEIGHT, _BITS, _PHOTOMETRIC, _SAMPLE_FORMAT = 256, 257, 258, 262, 339
_STRIPS, _TILES, _TILE_WIDTH, _TILE_HEIGHT = (273, 279), (324, 325), 322, 323
_ORIENTATION = 274
_TYPES = {1: "u1", 3: "u2", 4: "u4"}  # BYTE, SHORT, LONG
_RGB = 2
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
        """The file with this tag, a SHORT, set to 1."""
        _, _, position = self._entries[tag]
        return self.data[:position] + struct.pack(self.order + "H", 1) + self.data[position + 2 :]


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
    tile = directory.value(_TILE_WIDTH, 0) * directory.value(_TILE_HEIGHT, 0)
    if tile > max(4 * width * height, 1 << 20):
        raise corrupt("TIFF", f"tiles of {tile} pixels for an image of {width * height}")
    for offsets, counts in (_STRIPS, _TILES):
        starts, sizes = directory.values(offsets), directory.values(counts)
        end = int((starts + sizes).max(initial=0)) if len(starts) == len(sizes) else int(starts.max(initial=0))
        if end > len(data):
            raise cut_short("TIFF", f"the pixels end at byte {end} of {len(data)}")
    orientation = directory.value(_ORIENTATION, 1)
    if orientation == 1:
        return ImageHeader("TIFF", width, height, 1, data, deep)
    return ImageHeader("TIFF", width, height, exif_orientation(data), directory.without(_ORIENTATION), deep)


def _check_samples(directory: _Directory) -> bool:
    """Whether they are 16-bit RGB, which OpenCV rounds; 16-bit grey it cuts.

    Errors: DecodeError for samples or colours that OpenCV releases treat differently, or not at all."""
    bits, formats = directory.values(_BITS), directory.values(_SAMPLE_FORMAT)
    if (bits > 16).any() or (formats == 3).any():
        raise not_taken("TIFF", f"{bits.max(initial=0)}-bit {'float' if 3 in formats else 'integer'} samples")
    photometric = directory.value(_PHOTOMETRIC, 1)
    if photometric not in _COLOURS:
        raise not_taken("TIFF", f"photometric interpretation {photometric}, which is no grey, RGB, palette or CMYK")
    return photometric == _RGB and int(bits.max(initial=0)) == 16
