"""Pictures to test with."""

from __future__ import annotations

import contextlib
from typing import Any

import cv2
import numpy as np
from lay_out_weights import packaged

Array = np.ndarray[Any, np.dtype[Any]]


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


def gradient(height: int, width: int, channels: int = 3) -> Array:
    rows, columns, depth = np.ogrid[:height, :width, :channels]
    return ((rows + columns * 3 + depth * 50) % 256).astype(np.uint8)


def scene(height: int, width: int, seed: int = 0) -> Array:
    """Like a photo: detail at every scale, a little less of the finer, and hard edges."""
    rng = np.random.default_rng(seed)
    levels = np.full((height, width, 3), 110, np.float32)
    for octave in range(7):
        patch = rng.normal(size=(2 + height * 2**octave // 128, 2 + width * 2**octave // 128, 3)).astype(np.float32)
        levels += cv2.resize(patch, (width, height), interpolation=cv2.INTER_CUBIC) * (60 / 1.5**octave)
    image = levels.clip(0, 255).astype(np.uint8)
    cv2.circle(image, (width // 3, height // 2), height // 4, (250, 240, 20), -1)
    cv2.line(image, (0, height), (width, 0), (0, 0, 0), 3)
    return image


def photos() -> dict[str, Array]:
    """A made scene, and scikit-image's pictures where that distribution is installed (it need not be importable)."""
    pictures = {"scene": scene(301, 451)}
    for name in ("chelsea", "coffee", "astronaut", "camera"):
        with contextlib.suppress(FileNotFoundError):
            path = packaged("scikit-image", f"skimage/data/{name}.png")
            pictures[name] = cv2.imread(str(path), cv2.IMREAD_COLOR)
    return pictures
