"""ImageHeader: what a file says about its image, and the ways to refuse it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import DecodeError

TAKEN = "JPEG, PNG, WebP, BMP, TIFF or GIF"


@dataclass(frozen=True)
class ImageHeader:
    """What is known before a pixel is decoded.

    width, height: as stored, before the orientation is applied.
    orientation: EXIF's, 1 to 8; 1 where the file says nothing sensible.
    deep: 16 bits a sample that OpenCV would round, not cut, to 8.
    data: the file, or the part of it that holds the first frame, without what OpenCV releases treat differently.
    """

    format: str
    width: int
    height: int
    orientation: int
    data: bytes
    deep: bool = False


def check_size(format: str, width: int, height: int, max_pixels: int) -> None:
    """Errors: DecodeError for an image without pixels, or with more than max_pixels."""
    if width < 1 or height < 1:
        raise DecodeError(
            f"{format}: the header says {width} x {height} pixels (width x height)", fix="send an image that has pixels"
        )
    if width * height > max_pixels:
        raise DecodeError(
            f"{format}: {width} x {height} is {width * height} pixels, max_pixels is {max_pixels}",
            fix="send a smaller image, or raise max_pixels of DecodeImage",
        )


def cut_short(format: str, what: str) -> DecodeError:
    """The end of the file is missing."""
    return DecodeError(f"{format}: cut short: {what}", fix="send the whole file")


def not_taken(format: str, what: str) -> DecodeError:
    """The file may be whole and is of a kind that is not decoded."""
    return DecodeError(f"{format}: {what}", fix=f"convert it to 8-bit {TAKEN}")


def corrupt(format: str, what: str) -> DecodeError:
    """No decoder should make an image of this."""
    return DecodeError(f"{format}: corrupt: {what}", fix="encode the image again")
