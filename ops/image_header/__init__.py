"""What an image file says about itself, read before any pixel is decoded."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from ..errors import DecodeError
from .bmp import read_bmp
from .gif import read_gif
from .header import TAKEN, ImageHeader, cut_short, not_taken
from .jpeg import read_jpeg
from .png import read_png
from .tiff import read_tiff
from .webp import read_webp

__all__ = ["ImageHeader", "read_header"]

_READERS: tuple[tuple[bytes, str, Callable[[bytes, int], ImageHeader]], ...] = (
    (b"\xff\xd8\xff", "JPEG", read_jpeg),
    (b"\x89PNG\r\n\x1a\n", "PNG", read_png),
    (b"RIFF", "WebP", read_webp),
    (b"BM", "BMP", read_bmp),
    (b"II*\0", "TIFF", read_tiff),
    (b"MM\0*", "TIFF", read_tiff),
    (b"GIF87a", "GIF", read_gif),
    (b"GIF89a", "GIF", read_gif),
)

# Where the signature stands, the signature, and the format it belongs to.
_OTHERS = (
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (0, b"\xff\x4f\xff\x51", "JPEG 2000"),
    (4, b"ftypavi", "AVIF"),
    (4, b"ftyp", "HEIF or a video"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"#?R", "Radiance HDR"),
    (0, b"\x76\x2f\x31\x01", "OpenEXR"),
    (0, b"II+\0", "BigTIFF"),
    (0, b"MM\0+", "BigTIFF"),
    (0, b"\0\0\1\0", "ICO"),
    (0, b"\x59\xa6\x6a\x95", "Sun raster"),
    (0, b"%PDF", "PDF"),
    *((0, b"P%d" % number, "PNM") for number in range(1, 8)),
)

_FILE_NAME = re.compile(rb"@?[^\0\n]+\.(jpe?g|png|webp|bmp|tiff?|gif)", re.IGNORECASE)


def read_header(data: bytes, max_pixels: int) -> ImageHeader:
    """Format, size and orientation, from a file that is whole as far as its headers tell.

    Errors: DecodeError when there is no such image, it is cut short, or it has no pixels or more than max_pixels.
    """
    for signature, format, read in _READERS:
        if data.startswith(signature) and (format != "WebP" or data[8:12] == b"WEBP"):
            try:
                return read(data, max_pixels)
            except (struct.error, IndexError) as error:  # a field that would lie behind the end
                raise cut_short(format, f"the header does not end in {len(data)} bytes") from error
    if not data:
        raise DecodeError("the data is empty", fix="send the bytes of an image file")
    for start, signature, format in _OTHERS:
        if data.startswith(signature, start):
            raise not_taken(format, "this format is not taken")
    if len(data) < 1024 and _FILE_NAME.fullmatch(data):
        raise DecodeError(
            f"not an image, but a file's name: {data[:80]!r}",
            fix="give the file's bytes; on a command line, NAME=@FILE",
        )
    raise DecodeError(f"not an image: it starts with {data[:12]!r}", fix=f"send a {TAKEN}")
