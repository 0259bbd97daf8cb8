"""A JPEG to the classifier's input."""

from __future__ import annotations

import cv2
import numpy as np
import triton_python_backend_utils as pb_utils

SHORTER = 256
SIZE = 224
MEAN = np.array((0.485, 0.456, 0.406), np.float32)
STD = np.array((0.229, 0.224, 0.225), np.float32)


class TritonPythonModel:
    """Decode, resize and crop with OpenCV, as bytes; normalise with numpy."""

    def initialize(self, args: dict[str, str]) -> None:
        """The instances share the cores already."""
        cv2.setNumThreads(1)

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
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    scale = SHORTER / min(image.shape[:2])
    height, width = int(image.shape[0] * scale), int(image.shape[1] * scale)
    resized = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    top, left = round((height - SIZE) / 2), round((width - SIZE) / 2)
    rgb = cv2.cvtColor(resized[top : top + SIZE, left : left + SIZE], cv2.COLOR_BGR2RGB)
    x: np.ndarray = (rgb.astype(np.float32) / 255 - MEAN) / STD
    return np.transpose(x, (2, 0, 1))
