"""A picture as an array, to 224 x 224, to a small model: three usual ways to write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from .runtime import open_session

Array = np.ndarray[Any, np.dtype[Any]]

SIZE = 224
MEAN = np.array((0.485, 0.456, 0.406), np.float32)
STD = np.array((0.229, 0.224, 0.225), np.float32)


class ResizeFirst:
    """The careful way: the fewest pixels are converted."""

    def __init__(self, model: Path, threads: int = 1) -> None:
        self.session = open_session(model, threads)

    def preprocess(self, image: Array) -> Array:
        resized = cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        x = (resized.astype(np.float32) / 255 - MEAN) / STD
        return np.ascontiguousarray(x.transpose(2, 0, 1)[None])

    def __call__(self, image: Array) -> Array:
        outputs: list[Array] = self.session.run(None, {"x": self.preprocess(image)})
        answer: Array = outputs[0][0]
        return answer


class ConvertFirst(ResizeFirst):
    """The way of many papers' code: to float at once, then resize."""

    def preprocess(self, image: Array) -> Array:
        x = (image.astype(np.float32) / 255 - MEAN) / STD
        resized = cv2.resize(x, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        return np.ascontiguousarray(resized.transpose(2, 0, 1)[None])


class Blob(ResizeFirst):
    """cv2.dnn.blobFromImage, which resizes, subtracts and transposes in C++; it has one scale for all channels."""

    def preprocess(self, image: Array) -> Array:
        blob = cv2.dnn.blobFromImage(image, 1 / 255, (SIZE, SIZE), tuple(255 * float(mean) for mean in MEAN))
        x: Array = blob
        x /= STD.reshape(1, 3, 1, 1)
        return x
