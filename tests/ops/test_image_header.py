from __future__ import annotations

import struct

import pytest
from encoded import encode, oriented, picture, pixels, png, png_chunk, small_files, tiff, with_size, work_bombs
from PIL import Image

from ops.errors import DecodeError
from ops.image_header import ImageHeader, read_header

LIMIT = 89_478_485


def read(data: bytes) -> ImageHeader:
    return read_header(data, LIMIT)


@pytest.mark.parametrize("name", small_files())
def test_format_and_size_are_read_from_the_header(name: str) -> None:
    header = read(small_files()[name])
    assert (header.format, header.width, header.height, header.orientation) == (name, 16, 12, 1)


@pytest.mark.parametrize(
    ("format", "options"),
    [("JPEG", {}), ("PNG", {}), ("WEBP", {}), ("WEBP", {"lossless": True}), ("TIFF", {})],
)
def test_orientation_is_read_from_exif(format: str, options: dict[str, bool]) -> None:
    for orientation in range(1, 9):
        assert read(oriented(format, orientation, picture(), **options)).orientation == orientation


@pytest.mark.parametrize("order", ["<", ">"])
def test_orientation_is_read_from_both_byte_orders(order: str) -> None:
    assert read(tiff(pixels(4, 4), 2, order=order, t274=6)).orientation == 6


def test_a_jpeg_with_orientation_6_keeps_its_stored_size_in_the_header() -> None:
    header = read(oriented("JPEG", 6, picture(40, 100)))
    assert (header.height, header.width, header.orientation) == (40, 100, 6)


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_exif_does_not_know_is_1(orientation: int) -> None:
    assert read(oriented("JPEG", orientation, picture())).orientation == 1


def test_damaged_exif_is_no_reason_to_refuse_the_pixels() -> None:
    data = oriented("JPEG", 6, picture())
    damaged = data.replace(b"Exif\0\0MM\0*\0\0\0\x08", b"Exif\0\0MM\0*\x7f\0\0\x08")
    assert damaged != data
    assert read(damaged).orientation == 1


def test_an_end_marker_in_the_exif_thumbnail_or_the_comment_does_not_end_the_jpeg() -> None:
    data = small_files()["JPEG"]
    thumbnail = b"Exif\0\0" + data
    whole = data[:2] + b"\xff\xe1" + struct.pack(">H", len(thumbnail) + 2) + thumbnail + data[2:]
    assert read(whole).width == 16
    with pytest.raises(DecodeError, match=rf"JPEG: cut short: no end-of-image marker in {len(whole) - 2} bytes"):
        read(whole[:-2])


def test_a_jpeg_in_front_of_another_is_whole_even_if_the_other_is_cut() -> None:
    first = encode(picture(), "JPEG")
    assert read(first + first[:-50]).width == 30


def test_ancillary_chunks_of_a_png_are_left_out_of_what_is_decoded() -> None:
    assert read(png(4, 4, png_chunk(b"tEXt", b"key\0text"))).data == png(4, 4)


def test_the_first_frame_alone_of_a_gif_is_decoded() -> None:
    first, second = picture().quantize(4), picture(20, 30).rotate(180).quantize(4)
    animated = encode(first, "GIF", save_all=True, append_images=[second])
    assert len(read(animated).data) < 0.6 * len(animated)


def test_empty_data_is_refused() -> None:
    with pytest.raises(DecodeError, match="the data is empty") as error:
        read(b"")
    assert "send the bytes" in error.value.fix


@pytest.mark.parametrize("data", [b"hello, world", b"\0" * 100, b"\xff\xd8", b"RIFF\0\0\0\0WAVEfmt ", b"<svg/>"])
def test_what_is_no_image_is_refused_with_its_first_bytes(data: bytes) -> None:
    with pytest.raises(DecodeError, match="not an image: it starts with b") as error:
        read(data)
    assert "JPEG, PNG, WebP, BMP, TIFF or GIF" in error.value.fix


@pytest.mark.parametrize(
    ("format", "name"), [("JPEG2000", "JPEG 2000"), ("AVIF", "AVIF"), ("PPM", "PNM"), ("ICO", "ICO")]
)
def test_another_format_is_named(format: str, name: str) -> None:
    with pytest.raises(DecodeError, match=f"{name}: this format is not taken") as error:
        read(encode(picture(), format))
    assert "JPEG, PNG, WebP, BMP, TIFF or GIF" in error.value.fix


@pytest.mark.parametrize(
    ("name", "data"),
    {
        "JPEG": with_size(small_files()["JPEG"], small_files()["JPEG"].index(b"\xff\xc0") + 5, ">HH", 0, 16),
        "PNG": with_size(small_files()["PNG"], 16, ">II", 16, 0),
        "BMP": with_size(small_files()["BMP"], 18, "<ii", 0, 12),
        "GIF": with_size(small_files()["GIF"], 6, "<HH", 0, 0),
        "TIFF": tiff(pixels(4, 4), 2, t257=0),
    }.items(),
)
def test_an_image_without_pixels_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(DecodeError, match=rf"{name}: the header says \d+ x \d+ pixels"):
        read(data)


def test_max_pixels_is_the_most_that_is_taken() -> None:
    data = encode(picture(20, 30), "PNG")
    assert read_header(data, 600).width == 30
    with pytest.raises(DecodeError, match="PNG: 30 x 20 is 600 pixels, max_pixels is 599") as error:
        read_header(data, 599)
    assert "raise max_pixels" in error.value.fix


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("JPEG", "no end-of-image marker in"),
        ("PNG", "no IEND chunk in"),
        ("WebP", "bytes of"),
        ("BMP", "the pixels end at byte"),
        ("TIFF", "the pixels end at byte"),
        ("GIF", "the header does not end in"),
    ],
)
def test_a_file_cut_short_says_what_is_missing(name: str, message: str) -> None:
    data = small_files()[name]
    if name == "TIFF":
        data = tiff(pixels(12, 16), 2)  # its pixels at the end
    with pytest.raises(DecodeError, match=f"{name}: cut short: .*{message}") as error:
        read(data[:-9])
    assert error.value.fix == "send the whole file"


def test_a_png_cut_in_its_pixels_is_cut_short() -> None:
    with pytest.raises(DecodeError, match=r"PNG: cut short: a chunk ends at byte 5\d of 50"):
        read(png(4, 4)[:50])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1000 scans", r"JPEG: corrupt: 1010 scans, at most 64"),
        ("no data", r"JPEG: cut short: \d+ bytes cannot hold 89407500 pixels"),
        ("rows beyond the last", r"PNG: corrupt: \d+ bytes for 16 x 16 pixels"),
        ("tiles", r"TIFF: corrupt: tiles of 30000 x 30000 pixels for an image of 4 x 4"),
        ("strips", r"TIFF: cut short: the pixels end at byte 21\d+ of"),
    ],
)
def test_work_beyond_the_pixels_is_refused(name: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        read(work_bombs()[name])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xd8\xff\xd9", "JPEG: corrupt: it ends before its image begins"),
        (b"\xff\xd8\xff\xda\0\x08\1\1\0\0\x3f\0\xff\xd9", "JPEG: corrupt: no frame header before the first scan"),
        (png(4, 4).replace(b"IHDR", b"IHDX"), "PNG: corrupt: it does not start with an IHDR chunk"),
        (b"RIFF\x20\0\0\0WEBPJUNK" + bytes(24), "WebP: corrupt: the first chunk is b'JUNK'"),
        (b"GIF89a\1\0\1\0\0\0\0;", "GIF: corrupt: it has no frame"),
        (encode(Image.new("F", (4, 4)), "TIFF"), "TIFF: 32-bit float samples"),
        (tiff(pixels(4, 4).astype("u2"), 2, t284=2), "TIFF: 16-bit samples in separate planes"),
        (tiff(pixels(4, 4).astype("u2"), 2, t278=1), "TIFF: cut short: 1 of 4 strips or tiles"),
        (encode(picture().convert("LAB"), "TIFF"), "TIFF: photometric interpretation 8"),
    ],
)
def test_a_file_that_no_decoder_should_take_says_why(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message) as error:
        read(data)
    assert error.value.fix


@pytest.mark.parametrize("name", [b"bus.jpg", b"/data/\xe7\x8c\xab 1.PNG", b"@a.webp"])
def test_a_files_name_instead_of_its_bytes_is_told_apart(name: bytes) -> None:
    with pytest.raises(DecodeError, match="not an image, but a file's name") as error:
        read_header(name, 100)
    assert "NAME=@FILE" in error.value.fix
