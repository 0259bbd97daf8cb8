"""Encoded images for tests: Pillow's, and files written by hand that no encoder would write."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

IMAGES = Path(__file__).parent.parent / "data" / "images"


def encode(image: Image.Image, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def pillow_rgb(data: bytes) -> Any:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def pixels(height: int, width: int, channels: int = 3) -> Any:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, channels), dtype=np.uint8)


def picture(height: int = 20, width: int = 30) -> Image.Image:
    return Image.fromarray(pixels(height, width))


def oriented(format: str, orientation: int, image: Image.Image, **options: Any) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encode(image, format, exif=exif.tobytes(), **options)


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, *chunks: bytes, depth: int = 8, colour: int = 2, rows: bytes | None = None) -> bytes:
    """rows: each with its filter byte; black where not given. chunks: put before the pixels."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    rows = bytes((3 * width + 1) * height) if rows is None else rows
    data = png_chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + data + png_chunk(b"IEND", b"")


def tiff(array: Any, photometric: int, *, order: str = "<", **tags: int) -> bytes:
    """Uncompressed, one strip. tags: more of them, or other values, as t338=2."""
    height, width, samples = array.shape
    start = 8 + 2 + 12 * (9 + len(tags)) + 4
    data = array.astype(array.dtype.newbyteorder(order)).tobytes()
    values = {256: width, 257: height, 259: 1, 262: photometric, 273: start + 8, 277: samples, 278: height}
    values |= {279: len(data)} | {int(name[1:]): value for name, value in tags.items()}
    bits = struct.pack(order + "4H", *[array.dtype.itemsize * 8] * 4)
    inline = bits[: 2 * samples].ljust(4, b"\0") if samples < 3 else struct.pack(order + "I", start)
    entries = {tag: struct.pack(order + "HHII", tag, 4, 1, value) for tag, value in values.items()}
    entries[258] = struct.pack(order + "HHI", 258, 3, samples) + inline
    table = b"".join(entries[tag] for tag in sorted(entries))
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(entries)) + table
    return (head + bytes(4)).ljust(start, b"\0") + bits + data


def small_files() -> dict[str, bytes]:
    """One file of each format, each under 1 KB."""
    image = Image.fromarray(np.kron(pixels(3, 4), np.ones((4, 4, 1), np.uint8)))
    files = {name: encode(image, name) for name in ("JPEG", "PNG", "BMP", "TIFF", "GIF")}
    return files | {"WebP": encode(image, "WEBP", lossless=True)}


def zeros_deflated(nbytes: int) -> bytes:
    """Made piece by piece, so that it takes no memory here."""
    packer = zlib.compressobj(9)
    pieces = [packer.compress(bytes(1 << 20)) for _ in range(nbytes >> 20)]
    return b"".join(pieces) + packer.flush()


def with_size(data: bytes, at: int, form: str, width: int, height: int) -> bytes:
    """The file with another size written at `at` of its header."""
    size = struct.pack(form, width, height)
    return data[:at] + size + data[at + len(size) :]


def size_bombs() -> dict[str, bytes]:
    """Small files of every format whose header promises more than 89,478,485 pixels."""
    files = small_files()
    start = files["JPEG"].index(b"\xff\xc0") + 5
    canvas = (16383).to_bytes(3, "little") * 2
    body = b"VP8X" + struct.pack("<I4x", 10) + canvas + files["WebP"][12:]
    return {
        "JPEG": with_size(files["JPEG"], start, ">HH", 65500, 65500),
        "PNG": with_size(files["PNG"], 16, ">II", 60000, 60000),
        "WebP": b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body,
        "BMP": with_size(files["BMP"], 18, "<ii", 60000, -60000),
        "TIFF": tiff(pixels(4, 4), 2, t256=60000, t257=60000),
        "GIF": with_size(files["GIF"], 6, "<HH", 65535, 65535),
    }


def work_bombs() -> dict[str, bytes]:
    """Files of an allowed size that would cost far more than their pixels."""
    progressive = encode(Image.new("RGB", (3000, 3000)), "JPEG", progressive=True)
    last_scan = progressive[progressive.rindex(b"\xff\xda") : -2]
    grey = small_files()["JPEG"]
    tiles = {"t259": 8, "t322": 30000, "t323": 30000, "t324": 8, "t325": 40}
    return {
        "1000 scans": progressive[:-2] + last_scan * 1000 + progressive[-2:],
        "no data": with_size(grey, grey.index(b"\xff\xc0") + 5, ">HH", 1365, 65500),
        "rows beyond the last": png(16, 16).replace(
            png_chunk(b"IEND", b""), png_chunk(b"IDAT", zeros_deflated(64 << 20)) + png_chunk(b"IEND", b"")
        ),
        "tiles": tiff(pixels(4, 4), 2, **tiles),
        "strips": tiff(pixels(4, 4), 2, t278=0x7FFFFFFF, t279=0x7FFFFFFF),
    }


def text_bomb() -> bytes:
    """A PNG of 16 x 16 whose texts inflate to 600 MB."""
    packed = zeros_deflated(6 << 20)
    return png(16, 16, *(png_chunk(b"zTXt", b"key %d\0\0" % number + packed) for number in range(100)))
