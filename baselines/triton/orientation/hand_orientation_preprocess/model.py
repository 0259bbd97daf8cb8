"""A JPEG to the classifier's input."""

from __future__ import annotations

import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image

SHORTER = 256
SIZE = 224
MEAN = np.array((0.485, 0.456, 0.406), np.float32)
STD = np.array((0.229, 0.224, 0.225), np.float32)


class TritonPythonModel:
    """Decode, resize, crop and normalise with Pillow and numpy."""

    def execute(self, requests: list[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """One request after the other."""
        responses = []
        for request in requests:
            images = pb_utils.get_input_tensor_by_name(request, "image").as_numpy()
            x = np.stack([preprocess(image[0]) for image in images])
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("x", x)]))
        return responses


def preprocess(jpeg: bytes) -> np.ndarray:
    """float32[3,224,224]."""
    image = Image.open(io.BytesIO(jpeg)).convert("RGB")
    scale = SHORTER / min(image.size)
    image = image.resize((int(image.width * scale), int(image.height * scale)), Image.Resampling.BILINEAR)
    left, top = round((image.width - SIZE) / 2), round((image.height - SIZE) / 2)
    crop = image.crop((left, top, left + SIZE, top + SIZE))
    x: np.ndarray = (np.asarray(crop, np.float32) / 255 - MEAN) / STD
    return np.transpose(x, (2, 0, 1))
