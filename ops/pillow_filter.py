"""Pillow's bilinear and bicubic resize, byte for byte, without Pillow."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np

from .scratch import scratch
from .spec import Array

PRECISION_BITS = 32 - 8 - 2  # Pillow's fixed point: an int32 with 8 bits of pixel and 2 of headroom
HALF_STEP = 0.5 / (1 << PRECISION_BITS)
NARROW = 512  # bytes
OWN_THREAD = 1 << 18  # OpenBLAS shares out larger products, and waits long for its threads where others compute too


def _bilinear(x: Array) -> Array:
    return np.where(x < 1, 1 - x, 0)


def _bicubic(x: Array) -> Array:
    a = -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


FILTERS: dict[str, tuple[Callable[[Array], Array], int]] = {  # the function of |x|, and where it ends
    "pillow_bilinear": (_bilinear, 1),
    "pillow_bicubic": (_bicubic, 2),
}


class Window(NamedTuple):
    """Where a part of a resized image lies: the whole size, and the part's upper left corner."""

    height: int
    width: int
    top: int
    left: int


def pillow_resize(image: Array, filter: str, out: Array, window: Window | None = None) -> None:
    """Resize [h,w,C] of uint8 to fill `out`, as Pillow 12.2 does; or to a larger size, of which `out` is a window.

    Each pass rounds to 8 bits, so their order matters: columns first, but for a very tall image that gets shorter.
    A side that stays has no pass.
    """
    height, width, top, left = window or Window(out.shape[0], out.shape[1], 0, 0)
    rows, columns = range(top, top + out.shape[0]), range(left, left + out.shape[1])
    full = len(image)
    if full > 100 * image.shape[1] and height < full:
        made = _resize_columns(_resize_rows(image, height, filter, rows), width, filter, columns)
    else:
        image = _resize_columns(image[_seen(full, height, filter, rows)], width, filter, columns)
        made = _pass(image, full, height, filter, rows, out if out.flags.c_contiguous else None)
    if made is not out:
        out[...] = made


def _resize_columns(image: Array, size: int, filter: str, columns: range) -> Array:
    if size == image.shape[1]:
        return image[:, columns.start : columns.stop]
    turned = _resize_rows(_transpose(image, "turned"), size, filter, columns)
    return _transpose(turned, "upright")


def _transpose(image: Array, name: str) -> Array:
    height, width, channels = image.shape
    out = scratch(name, (width, height, channels), np.uint8)
    single = channels == 1  # for OpenCV such an image has two axes
    cv2.transpose(image[:, :, 0] if single else image, dst=out[:, :, 0] if single else out)
    return out


def _resize_rows(image: Array, size: int, filter: str, rows: range) -> Array:
    """Some rows of the image resized along its first axis."""
    return _pass(image[_seen(len(image), size, filter, rows)], len(image), size, filter, rows)


def _pass(seen: Array, full: int, size: int, filter: str, rows: range, out: Array | None = None) -> Array:
    """Some rows, from the source rows that they see, of `full` in all; into `out` (contiguous) if there is a pass."""
    if full == size:
        return seen
    if out is None:
        out = scratch("rows", (len(rows), *seen.shape[1:]), np.uint8)
    if full == 1:  # one source row has all the weight
        out[...] = seen
        return out
    flat, flat_out = seen.reshape(len(seen), -1), out.reshape(len(rows), -1)
    # Output rows to a matrix product: more of them multiply more zeros, fewer make more calls.
    step = 64 if flat.shape[1] <= NARROW and full < 2 * size else 8
    bands = _bands(full, size, filter, rows, step)
    most = max(band.weights.shape[1] * min(_width(band), flat.shape[1]) for band in bands)
    all_values = scratch("values", (most,), np.float64)
    all_levels = scratch("levels", (step, flat.shape[1]), np.float64).reshape(-1)
    for band in bands:
        count, width = band.weights.shape[1], _width(band)
        for start in range(0, flat.shape[1], width):
            columns = slice(start, min(start + width, flat.shape[1]))
            wide = columns.stop - columns.start
            values = all_values[: count * wide].reshape(count, wide)
            values[...] = flat[band.source, columns]
            levels = all_levels[: len(band.weights) * wide].reshape(-1, wide)
            # Multiples of 2**-22 below 2**9 have 31 bits: float64 adds them exactly, in any order.
            np.matmul(band.weights, values, out=levels)
            _round(levels, flat_out[band.target, columns])
    return out


def _width(band: _Band) -> int:
    """How many columns to multiply at once."""
    return max(OWN_THREAD // band.weights.size, 4)


def _round(levels: Array, out: Array) -> None:
    """To the nearest level and into 0..255. The half step takes halves up, as Pillow does, and moves nothing else.

    (cv2.add would say it plainer, but takes some small arrays for scalars.)
    """
    levels = levels[: len(out)]
    cv2.addWeighted(levels, 1, levels, 0, HALF_STEP, dst=out, dtype=cv2.CV_8U)


class _Band(NamedTuple):
    """Some output rows, the source rows that they see, and the weights between them; both counted from the first."""

    target: slice
    source: slice
    weights: Array


def _seen(size_in: int, size_out: int, filter: str, rows: range) -> slice:
    """The source rows that some output rows see."""
    if size_in == size_out:
        return slice(rows.start, rows.stop)
    first, last, _ = _weights(size_in, size_out, filter)
    return slice(int(first[rows.start]), int(last[rows.stop - 1]))


@lru_cache(maxsize=32)  # a table takes about 100 bytes for each source row, 550 for a narrow image
def _bands(size_in: int, size_out: int, filter: str, rows: range, step: int) -> tuple[_Band, ...]:
    first, last, weights = _weights(size_in, size_out, filter)
    taps = np.arange(weights.shape[1])
    bands = []
    for start in range(rows.start, rows.stop, step):
        target = slice(start, min(start + step, rows.stop))
        source = slice(int(first[start]), int(last[target].max()))
        # Two rows at least: a single one is a product of another kind, shared out when it is much smaller.
        matrix = np.zeros((max(target.stop - start, 2), source.stop - source.start + len(taps)))
        places = first[target, None] - source.start + taps
        np.put_along_axis(matrix[: len(places)], places, weights[target], axis=1)
        shift = int(first[rows.start])
        bands.append(
            _Band(
                slice(target.start - rows.start, target.stop - rows.start),
                slice(source.start - shift, source.stop - shift),
                np.ascontiguousarray(matrix[:, : source.stop - source.start]),
            )
        )
    return tuple(bands)


@lru_cache(maxsize=32)
def _weights(size_in: int, size_out: int, filter: str) -> tuple[Array, Array, Array]:
    """For each output row its first source row, the one after its last, and its weights in 1 / 2**22."""
    function, reach = FILTERS[filter]
    scale = size_in / size_out
    stretch = max(scale, 1.0)  # antialiasing: a shrinking filter widens
    centre = (np.arange(size_out) + 0.5) * scale
    first = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), size_in)
    source = first[:, None] + np.arange((last - first).max())
    weights = function(np.abs((source - centre[:, None] + 0.5) * (1.0 / stretch)))
    weights[source >= last[:, None]] = 0
    weights /= np.add.accumulate(weights, axis=1)[:, -1:]  # summed left to right: np.sum would round differently
    fixed = np.trunc(weights * (1 << PRECISION_BITS) + np.copysign(0.5, weights))
    return first, last, fixed / (1 << PRECISION_BITS)
