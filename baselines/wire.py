"""A client that preprocesses: it sends the tensor that the model takes, and the model is all that is served."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def preprocess(jpeg: bytes) -> Array:
    """float16[1,3,H,W], 0..1: of 3600 x 3600 pixels 78 MB."""
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR_RGB)
    assert image is not None
    x: Array = image.transpose(2, 0, 1)[None].astype(np.float32, order="C")
    x /= 255
    return x.astype(np.float16)
