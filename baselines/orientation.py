"""Which way up a page is, from a JPEG: the loop that a good engineer writes, and the usual one with Pillow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from .runtime import open_session

Array = np.ndarray[Any, np.dtype[Any]]

SHORTER = 256
SIZE = 224
MEAN = np.array((0.485, 0.456, 0.406), np.float32)
STD = np.array((0.229, 0.224, 0.225), np.float32)


class Loop:
    """OpenCV, numpy, ONNX Runtime: resized and cropped as bytes, then converted."""

    def __init__(self, model: Path, threads: int = 0) -> None:
        self.session = open_session(model, threads)

    def preprocess(self, jpeg: bytes) -> Array:
        image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        height, width = shorter_side(*image.shape[:2])
        resized = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
        top, left = round((height - SIZE) / 2), round((width - SIZE) / 2)
        rgb = cv2.cvtColor(resized[top : top + SIZE, left : left + SIZE], cv2.COLOR_BGR2RGB)
        x = (rgb.astype(np.float32) / 255 - MEAN) / STD
        return np.ascontiguousarray(x.transpose(2, 0, 1)[None])

    def __call__(self, jpeg: bytes) -> Array:
        """A score for each way up."""
        outputs: list[Array] = self.session.run(None, {"x": self.preprocess(jpeg)})
        scores: Array = outputs[0][0]
        return scores


class PillowLoop(Loop):
    """The usual form, as in the examples of most model pages."""

    def preprocess(self, jpeg: bytes) -> Array:
        image = Image.open(io.BytesIO(jpeg)).convert("RGB")
        height, width = shorter_side(image.height, image.width)
        resized = image.resize((width, height), Image.Resampling.BILINEAR)
        top, left = round((height - SIZE) / 2), round((width - SIZE) / 2)
        crop = resized.crop((left, top, left + SIZE, top + SIZE))
        x = (np.asarray(crop, np.float32) / 255 - MEAN) / STD
        return np.ascontiguousarray(x.transpose(2, 0, 1)[None])


def shorter_side(height: int, width: int) -> tuple[int, int]:
    """The size at which the shorter side is 256."""
    if height <= width:
        return SHORTER, int(SHORTER * width / height)
    return int(SHORTER * height / width), SHORTER
