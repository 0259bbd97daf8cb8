"""The image tower of Chinese-CLIP from a picture: Pillow's bicubic filter, as its training saw it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from .runtime import open_session

Array = np.ndarray[Any, np.dtype[Any]]

SIZE = 224
MEAN = np.array((0.48145466, 0.4578275, 0.40821073), np.float32)
STD = np.array((0.26862954, 0.26130258, 0.27577711), np.float32)


class Loop:
    """Pillow, numpy, ONNX Runtime."""

    def __init__(self, model: Path, threads: int = 0) -> None:
        self.session = open_session(model, threads)

    def __call__(self, picture: bytes) -> Array:
        """A vector of length 1."""
        image = Image.open(io.BytesIO(picture)).convert("RGB").resize((SIZE, SIZE), Image.Resampling.BICUBIC)
        x = (np.asarray(image, np.float32) / 255 - MEAN) / STD
        (features,) = self.session.run(None, {"image": np.ascontiguousarray(x.transpose(2, 0, 1)[None])})
        vector: Array = features[0] / np.linalg.norm(features[0])
        return vector
