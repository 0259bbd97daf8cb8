from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from encoded import IMAGES, encode, oriented, picture, pillow_rgb, pixels, png, png_chunk, size_bombs, small_files, tiff
from expecting import Expect
from PIL import Image, ImageOps

from ops.decode_image import DecodeImage
from ops.errors import DecodeError, SpecError
from ops.spec import ENCODED_IMAGE, TensorSpec

READS_GIF = any("GIF" in line and "YES" in line for line in cv2.getBuildInformation().splitlines())
READS_ANIMATED_WEBP = not cv2.__version__.startswith("4.10.")
READABLE = [name for name in small_files() if name != "GIF" or READS_GIF]
RGB, BGR, GRAY = (DecodeImage(color=color) for color in ("RGB", "BGR", "GRAY"))


def exact_files() -> dict[str, bytes]:
    rgb = picture()
    grey, palette, one = rgb.convert("L"), rgb.quantize(16), rgb.convert("1")
    rgba = Image.fromarray(pixels(20, 30, 4))
    deep = Image.fromarray((np.arange(600, dtype=np.uint32) * 109).astype(np.uint16).reshape(20, 30))
    files = {
        f"TIFF {name}": encode(rgb, "TIFF", compression=name) for name in ("raw", "tiff_lzw", "tiff_adobe_deflate")
    }
    files["TIFF CMYK"] = encode(rgb.convert("CMYK"), "TIFF")
    for format in ("PNG", "BMP", "TIFF"):
        for name, image in {"RGB": rgb, "grey": grey, "palette": palette, "1 bit": one}.items():
            files[f"{format} {name}"] = encode(image, format)
    for format in ("PNG", "BMP"):
        files[f"{format} RGBA"] = encode(rgba, format)
    files["PNG grey and alpha"] = encode(rgba.convert("LA"), "PNG")
    files["PNG 2 bit palette"] = encode(rgb.quantize(4), "PNG", bits=2)
    files["PNG transparent colour"] = encode(palette, "PNG", transparency=3)
    files["PNG animated"] = encode(rgb, "PNG", save_all=True, append_images=[ImageOps.flip(rgb)])
    files["PNG 16 bit grey"] = encode(deep, "PNG")
    files["WebP lossless"] = encode(rgb, "WEBP", lossless=True)
    files["WebP lossless RGBA"] = encode(rgba, "WEBP", lossless=True, exact=True)
    if READS_ANIMATED_WEBP:
        files["WebP animated"] = encode(rgb, "WEBP", lossless=True, save_all=True, append_images=[ImageOps.flip(rgb)])
    if READS_GIF:
        files["GIF palette"] = encode(palette, "GIF")
        files["GIF grey"] = encode(grey, "GIF")
        files["GIF interlaced"] = encode(palette, "GIF", interlace=1)
        files["GIF transparent colour"] = encode(palette, "GIF", transparency=3)
        files["GIF animated"] = encode(palette, "GIF", save_all=True, append_images=[ImageOps.flip(palette)])
    return files


EXACT = exact_files()


def reference(data: bytes) -> Any:
    """Pillow's RGB; its 16-bit grey cut to the upper 8 bits."""
    with Image.open(io.BytesIO(data)) as image:
        if image.mode.startswith("I;16"):
            return np.repeat((np.asarray(image) >> 8).astype(np.uint8)[:, :, None], 3, 2)
    return pillow_rgb(data)


@pytest.mark.parametrize("name", EXACT)
def test_lossless_files_have_the_pixels_of_pillow(expect: Expect, name: str) -> None:
    want = reference(EXACT[name])
    expect(RGB, EXACT[name], want=want)
    expect(BGR, EXACT[name], want=want[:, :, ::-1])
    grey = want.astype(np.float64) @ (0.299, 0.587, 0.114)
    assert np.abs(expect(GRAY, EXACT[name])[:, :, 0] - grey).max() < 1.1


@pytest.mark.parametrize("name", ["chelsea.jpg", "chelsea_progressive.jpg", "chelsea.webp"])
def test_photos_are_those_of_imdecode_and_within_1_of_pillow(expect: Expect, name: str) -> None:
    data = (IMAGES / name).read_bytes()
    buffer = np.frombuffer(data, np.uint8)
    expect(BGR, data, want=cv2.imdecode(buffer, cv2.IMREAD_COLOR))
    expect(GRAY, data, want=cv2.imdecode(buffer, cv2.IMREAD_GRAYSCALE)[:, :, None])
    expect(RGB, data, want=pillow_rgb(data), atol=1)


def test_a_grey_jpeg_has_three_equal_channels(expect: Expect) -> None:
    data = encode(picture().convert("L"), "JPEG")
    expect(RGB, data, want=pillow_rgb(data), atol=1)
    image = RGB.run(data)
    assert (image == image[:, :, :1]).all()
    expect(GRAY, data, want=image[:, :, :1])


def test_a_cmyk_jpeg_is_within_1_of_pillow(expect: Expect) -> None:
    data = (IMAGES / "chelsea_cmyk.jpg").read_bytes()
    expect(RGB, data, want=pillow_rgb(data), atol=1)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("photometric", "samples", "tags"),
    [(1, 1, {}), (2, 3, {}), (2, 4, {"t338": 2}), (0, 1, {})],
    ids=["grey", "RGB", "RGBA", "white is 0"],
)
def test_16_bits_of_a_tiff_become_v_shifted_by_8(
    expect: Expect, photometric: int, samples: int, tags: dict[str, int], order: str
) -> None:
    deep = np.random.default_rng(0).integers(0, 65536, (20, 30, samples)).astype(np.uint16)
    want = (deep >> 8).astype(np.uint8)[:, :, :3]
    want = 255 - want if photometric == 0 else want
    data = tiff(deep, photometric, order=order, **tags)
    expect(RGB, data, want=want if samples > 1 else np.repeat(want, 3, 2))
    assert np.abs(GRAY.run(data)[:, :, 0] - want @ ((0.299, 0.587, 0.114) if samples > 1 else (1,))).max() < 1.1


def test_16_bits_of_a_png_become_v_shifted_by_8(expect: Expect) -> None:
    deep = np.random.default_rng(0).integers(0, 65536, (20, 30, 3)).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in deep)
    expect(RGB, png(30, 20, depth=16, rows=rows), want=(deep >> 8).astype(np.uint8))


def test_only_an_rgba_tiff_comes_multiplied_by_its_alpha(expect: Expect) -> None:
    rgba = pixels(20, 30, 4)
    want = rgba[:, :, :3].astype(np.float64) * rgba[:, :, 3:] / 255
    expect(RGB, tiff(rgba, 2, t338=2), want=np.rint(want).astype(np.uint8), atol=1)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(
    ("format", "options"), [("JPEG", {}), ("PNG", {}), ("WEBP", {"lossless": True}), ("TIFF", {})], ids=lambda v: str(v)
)
def test_all_orientations_are_applied_as_pillow_does_unless_told_otherwise(
    expect: Expect, format: str, options: dict[str, Any], orientation: int
) -> None:
    data = oriented(format, orientation, picture(10, 40), **options)
    stored = Image.fromarray(pillow_rgb(oriented(format, 1, picture(10, 40), **options)))
    stored.getexif()[0x0112] = orientation
    expect(RGB, data, want=np.asarray(ImageOps.exif_transpose(stored)), atol=1 if format == "JPEG" else 0)
    expect(DecodeImage(color="RGB", apply_orientation=False), data, want=np.asarray(stored), atol=1)
    assert expect(GRAY, data).shape == ((40, 10, 1) if orientation > 4 else (10, 40, 1))


def test_a_jpeg_stored_40_by_100_with_orientation_6_is_100_high_and_40_wide() -> None:
    data = oriented("JPEG", 6, picture(40, 100))
    assert RGB.run(data).shape == (100, 40, 3)
    assert DecodeImage(color="RGB", apply_orientation=False).run(data).shape == (40, 100, 3)


def test_a_colour_that_is_none_is_refused() -> None:
    with pytest.raises(SpecError, match="color is 'rgb'") as error:
        DecodeImage(color="rgb").infer(ENCODED_IMAGE)
    assert "RGB, BGR, GRAY" in error.value.fix


@pytest.mark.parametrize("value", [0, -1, True, 1e6, "1000", None])
def test_max_pixels_that_is_no_whole_number_above_0_is_refused(value: Any) -> None:
    with pytest.raises(SpecError, match=f"max_pixels is {value!r}"):
        DecodeImage(color="RGB", max_pixels=value).infer(ENCODED_IMAGE)


def test_pixels_instead_of_bytes_are_refused() -> None:
    with pytest.raises(SpecError, match=r"uint8\[2,2,3\]: dtype is uint8, wanted bytes"):
        RGB.infer(TensorSpec("uint8", (2, 2, 3)))


@pytest.mark.parametrize(
    ("format", "options", "reads"),
    [("GIF", {}, READS_GIF), ("animated WebP", {"lossless": True}, READS_ANIMATED_WEBP)],
)
def test_an_animation_is_read_or_the_release_that_cannot_is_named(
    format: str, options: dict[str, Any], reads: bool
) -> None:
    second = picture().rotate(180)
    data = encode(picture(), format.split()[-1], save_all=True, append_images=[second], **options)
    if reads:
        assert np.array_equal(RGB.run(data), pillow_rgb(data))
    else:
        with pytest.raises(DecodeError, match=f"{format}: OpenCV {cv2.__version__} does not read it"):
            RGB.run(data)


def test_what_opencv_cannot_decode_names_the_format_and_the_release() -> None:
    data = bytearray(png(4, 4))
    data[-20] ^= 1  # in the compressed rows: their checksum is wrong now
    with pytest.raises(DecodeError, match=rf"PNG: OpenCV {cv2.__version__} finds no image of 4 x 4 pixels"):
        RGB.run(bytes(data))


@pytest.mark.parametrize("name", READABLE)
def test_no_prefix_of_a_file_gives_other_pixels_than_the_file(name: str) -> None:
    data = small_files()[name]
    assert len(data) < 1024
    whole = RGB.run(data)
    taken = []
    for length in range(len(data)):
        try:
            image = RGB.run(data[:length])
        except DecodeError:
            continue
        assert np.array_equal(image, whole)
        taken.append(length)
    # A GIF without its last byte, the trailer, has all its pixels.
    assert taken == ([len(data) - 1] if name == "GIF" else [])


@pytest.mark.parametrize("name", ["chelsea.jpg", "chelsea_progressive.jpg", "chelsea_cmyk.jpg", "chelsea.webp"])
def test_a_photo_cut_anywhere_is_refused(name: str) -> None:
    data = (IMAGES / name).read_bytes()
    for length in range(0, len(data), 37):
        with pytest.raises(DecodeError):
            RGB.run(data[:length])


@pytest.mark.parametrize("name", READABLE)
def test_bytes_behind_the_file_do_no_harm(name: str) -> None:
    data = small_files()[name]
    assert np.array_equal(RGB.run(data + b"\0" * 5 + b"junk"), RGB.run(data))


def test_an_animated_png_gives_its_first_frame_and_leaves_text_and_profiles_packed() -> None:
    bomb = png_chunk(b"zTXt", b"key\0\0" + b"not even deflate data")
    assert np.array_equal(RGB.run(png(4, 4, bomb)), np.zeros((4, 4, 3), np.uint8))


def mutated() -> Iterator[bytes]:
    """A thousand files with a cut, a hole, a flipped bit or another header, one to three of them."""
    rng = np.random.default_rng(1)
    files = [*small_files().values(), (IMAGES / "chelsea.jpg").read_bytes(), *list(EXACT.values())[::3]]
    for round in range(1000):
        data = bytearray(files[round % len(files)])
        for _ in range(rng.integers(1, 4)):
            kind, at = rng.integers(4), int(rng.integers(len(data)))
            if kind == 0:
                del data[at:]
            elif kind == 1:
                del data[at : at + int(rng.integers(1, 40))]
            elif kind == 2:
                data[at % 64 % len(data)] = rng.integers(256)  # in the header
            else:
                data[at] ^= 1 << int(rng.integers(8))
            if not data:
                break
        yield bytes(data)


MUTATED = """
import resource, time
from ops.decode_image import DecodeImage
from ops.errors import DecodeError
from test_decode_image import mutated

op, files, slowest, images = DecodeImage(color="RGB", max_pixels=4_000_000), list(mutated()), 0.0, 0
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for data in files:
    start = time.thread_time()
    try:
        image = op.run(data)
    except DecodeError:
        pass
    else:
        images += 1
        assert image.dtype == "uint8" and image.ndim == 3 and image.size <= 3 * 4_000_000
    slowest = max(slowest, time.thread_time() - start)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak  # in KiB on Linux, less elsewhere
assert 50 < images < 900, f"{images} images"
assert slowest < 1, f"{slowest} s"
assert grown < 64 << 10, f"{grown} KiB"  # some copies of the largest picture that is let through
"""


def run_alone(script: str) -> None:
    """Run it in a process of its own: the largest size that a process ever had is known, and never falls."""
    here = Path(__file__).parents
    paths = os.pathsep.join(map(str, (here[2], here[1] / "support", here[0])))
    environment = {**os.environ, "PYTHONPATH": paths}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_mutated_files_are_each_an_image_or_a_decode_error_in_little_time_and_memory() -> None:
    run_alone(MUTATED)


@pytest.mark.parametrize("name", size_bombs())
def test_an_image_above_max_pixels_is_refused_before_it_is_decoded(name: str) -> None:
    data = size_bombs()[name]
    start = time.thread_time()
    with pytest.raises(DecodeError, match=r"pixels, max_pixels is 89478485"):
        RGB.run(data)
    assert time.thread_time() - start < 0.1


BOMBS = """
import resource, time
from encoded import size_bombs, text_bomb, work_bombs
from ops.decode_image import DecodeImage
from ops.errors import DecodeError

op = DecodeImage(color="RGB")
bombs = [*size_bombs().values(), *work_bombs().values()]
text = text_bomb()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
for bomb in bombs:
    try:
        raise SystemExit(f"an image of {op.run(bomb).shape}")
    except DecodeError:
        pass
assert op.run(text).shape == (16, 16, 3)
spent = time.process_time() - start
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak  # in KiB on Linux, less elsewhere
assert spent < 1, f"{spent} s"
assert grown < 32 << 10, f"{grown} KiB"
"""


def test_bombs_cost_neither_time_nor_memory() -> None:
    run_alone(BOMBS)
