"""DecodeImage: an encoded file to pixels, or a reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from .errors import DecodeError, SpecError
from .image_header import ImageHeader, read_header
from .op import Edge, Op
from .spec import Array, TensorSpec, require, require_flag, require_whole

_FLAGS = {"RGB": cv2.IMREAD_COLOR, "BGR": cv2.IMREAD_COLOR, "GRAY": cv2.IMREAD_GRAYSCALE}
# libjpeg writes RGB by itself. In 4.11 and 5.0 this flag makes noise of a 16-bit TIFF; 4.10 does not have it.
_JPEG_RGB = getattr(cv2, "IMREAD_COLOR_RGB", None)
# EXIF orientation: whether rows and columns change places, and then cv2.flip's code.
_TURNS = {
    1: (False, None),
    2: (False, 1),
    3: (False, -1),
    4: (False, 0),
    5: (True, None),
    6: (True, 1),
    7: (True, -1),
    8: (True, 0),
}
# One pixel of each format that some OpenCV releases lack.
_SAMPLES = {
    "GIF": bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b"),
    "animated WebP": bytes.fromhex(
        "524946465600000057454250565038580a00000002000000000000000000414e494d06000000000000000000414e4d46"
        "2a000000000000000000000000000000000000025650384c110000002f0000000007d0fffef7bfff8188e87f0000"
    ),
}


@dataclass(frozen=True)
class DecodeImage(Op[Edge]):
    """Decode a JPEG, PNG, WebP, BMP, TIFF or GIF, upright; of an animation the first frame.

    Grey becomes three equal channels, a palette its colours, 16 bits v >> 8. Alpha is dropped, not composited; only
    from an 8-bit RGBA TIFF the colours come multiplied by it, since libtiff does so. Colour profiles are ignored. Of a
    GIF's canvas, what its first frame leaves out is the background colour.
    color: "RGB", "BGR", or "GRAY", which is OpenCV's: of a JPEG its luma, else .299 R + .587 G + .114 B.
    apply_orientation: turn the pixels as EXIF says (JPEG, PNG, WebP, TIFF).
    max_pixels: checked against the header before a pixel is decoded.

    Input:      data   bytes           one encoded file
    Output:     image  uint8[H,W,3]    0..255; GRAY: uint8[H,W,1]
    Errors:     SpecError for another color, or max_pixels below 1. DecodeError for data that is empty, no image, of
                another format, without pixels, above max_pixels, cut short, or corrupt as far as the file can tell
                (JPEG has no checksum); for GIF and animated WebP where the installed OpenCV cannot read them.
    Reference:  Pillow 12.2, Image.open(...).convert("RGB"); for JPEG and GRAY cv2.imdecode
    Deviation:  none; from Pillow at most 1 for JPEG (CMYK too) and lossy WebP

    >>> str(DecodeImage(color="RGB").infer(TensorSpec("bytes", ())))
    'uint8[H,W,3]'
    """

    color: str
    apply_orientation: bool = True
    max_pixels: int = 89_478_485

    def infer(self, data: TensorSpec) -> TensorSpec:
        require(data, "data", dtype=("bytes",), rank=0, fix="give it an input of ops.ENCODED_IMAGE")
        if self.color not in tuple(_FLAGS):
            raise SpecError(f"color is {self.color!r}", fix=f"use one of {', '.join(_FLAGS)}")
        require_flag("apply_orientation", self.apply_orientation)
        require_whole("max_pixels", self.max_pixels)
        return TensorSpec("uint8", ("H", "W", 1 if self.color == "GRAY" else 3))

    def run(self, data: bytes, out: Array | None = None) -> Array:
        header = read_header(data, self.max_pixels)
        image = _decode(header, self.color)
        transpose, flip = _TURNS[header.orientation if self.apply_orientation else 1]
        if transpose:
            image = cv2.transpose(image)
        if flip is not None:
            image = cv2.flip(image, flip, dst=image)
        image = image.reshape(*image.shape[:2], -1)
        if out is None or out.shape != image.shape:
            return image
        np.copyto(out, image)
        return out


def _decode(header: ImageHeader, color: str) -> Array:
    """The pixels as stored."""
    format, size = header.format, (header.height, header.width)
    if format in _SAMPLES and not _reads(format):
        raise DecodeError(f"{format}: OpenCV {cv2.__version__} does not read it", fix="convert it to PNG")
    flags = _FLAGS[color] | (cv2.IMREAD_ANYDEPTH if header.deep else 0)
    swap = color == "RGB"
    if swap and format == "JPEG" and _JPEG_RGB is not None:
        flags, swap = _JPEG_RGB, False
    image = _imdecode(header.data, flags)
    if image is None or image.shape[:2] != size:
        raise DecodeError(
            f"{format}: OpenCV {cv2.__version__} finds no image of {header.width} x {header.height} pixels in it",
            fix="the file is corrupt or of a rare kind: encode it again",
        )
    if image.dtype == np.uint16:
        image = (image >> 8).astype(np.uint8)
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB, dst=image) if swap else image


def _imdecode(data: bytes, flags: int) -> Array | None:
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), flags | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:  # some releases raise where others return None
        return None


@cache
def _reads(format: str) -> bool:
    return _imdecode(_SAMPLES[format], cv2.IMREAD_COLOR) is not None
