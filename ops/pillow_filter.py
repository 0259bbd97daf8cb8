"""Pillow's bilinear and bicubic resize, byte for byte, without Pillow."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np

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


def pillow_resize(image: Array, filter: str, out: Array) -> None:
    """Resize uint8[h,w,C] to fill `out`, as Pillow 12.2 does.

    Each pass rounds to 8 bits, so their order matters: columns first, but for a very tall image that gets shorter.
    A side that stays has no pass.
    """
    height, width = out.shape[:2]
    if image.shape[0] > 100 * image.shape[1] and height < image.shape[0]:
        image = _resize_rows(image, height, filter)
    if width != image.shape[1]:
        image = _transpose(_resize_rows(_transpose(image), width, filter))
    made = _resize_rows(image, height, filter, out if out.flags.c_contiguous else None)
    if made is not out:
        out[...] = made


def _transpose(image: Array) -> Array:
    height, width, channels = image.shape
    return cv2.transpose(image).reshape(width, height, channels)


def _resize_rows(image: Array, size: int, filter: str, out: Array | None = None) -> Array:
    """Resize along the first axis, into `out` (contiguous) if there is anything to do."""
    if len(image) == size:
        return image
    if out is None:
        out = np.empty((size, *image.shape[1:]), np.uint8)
    if len(image) == 1:  # one source row has all the weight
        out[...] = image
        return out
    flat, flat_out = image.reshape(len(image), -1), out.reshape(size, -1)
    # Output rows to a matrix product: more of them multiply more zeros, fewer make more calls.
    rows = 64 if flat.shape[1] <= NARROW and len(image) < 2 * size else 8
    for band in _bands(len(image), size, filter, rows):
        width = max(OWN_THREAD // band.weights.size, 4)
        for start in range(0, flat.shape[1], width):
            columns = slice(start, start + width)
            # Multiples of 2**-22 below 2**9 have 31 bits: float64 adds them exactly, in any order.
            levels = band.weights @ flat[band.source, columns].astype(np.float64)
            _round(levels, flat_out[band.target, columns])
    return out


def _round(levels: Array, out: Array) -> None:
    """To the nearest level and into 0..255. The half step takes halves up, as Pillow does, and moves nothing else.

    (cv2.add would say it plainer, but takes some small arrays for scalars.)
    """
    levels = levels[: len(out)]
    cv2.addWeighted(levels, 1, levels, 0, HALF_STEP, dst=out, dtype=cv2.CV_8U)


class _Band(NamedTuple):
    """Some output rows, the source rows that they see, and the weights between them."""

    target: slice
    source: slice
    weights: Array


@lru_cache(maxsize=32)  # a table takes about 100 bytes for each source row, 550 for a narrow image
def _bands(size_in: int, size_out: int, filter: str, rows: int) -> tuple[_Band, ...]:
    first, last, weights = _weights(size_in, size_out, filter)
    taps = np.arange(weights.shape[1])
    bands = []
    for start in range(0, size_out, rows):
        target = slice(start, min(start + rows, size_out))
        source = slice(int(first[start]), int(last[target].max()))
        # Two rows at least: a single one is a product of another kind, shared out when it is much smaller.
        matrix = np.zeros((max(target.stop - start, 2), source.stop - source.start + len(taps)))
        places = first[target, None] - source.start + taps
        np.put_along_axis(matrix[: len(places)], places, weights[target], axis=1)
        bands.append(_Band(target, source, np.ascontiguousarray(matrix[:, : source.stop - source.start])))
    return tuple(bands)


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
