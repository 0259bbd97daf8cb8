"""A JPEG to YOLO11's input."""

from __future__ import annotations

import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image

SIZE = 640
FILL = (114, 114, 114)


class TritonPythonModel:
    """Decode and letterbox with Pillow, scale with numpy."""

    def execute(self, requests: list[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """One request after the other."""
        responses = []
        for request in requests:
            images = pb_utils.get_input_tensor_by_name(request, "image").as_numpy()
            made = [preprocess(image[0]) for image in images]
            x = pb_utils.Tensor("images", np.stack([x for x, _ in made]))
            transform = pb_utils.Tensor("transform", np.stack([transform for _, transform in made]))
            responses.append(pb_utils.InferenceResponse([x, transform]))
        return responses


def preprocess(jpeg: bytes) -> tuple[np.ndarray, np.ndarray]:
    """float32[3,640,640]; and scale, left, top."""
    image = Image.open(io.BytesIO(jpeg)).convert("RGB")
    scale = min(SIZE / image.width, SIZE / image.height)
    inner = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
    left, top = (SIZE - inner.width) // 2, (SIZE - inner.height) // 2
    framed = Image.new("RGB", (SIZE, SIZE), FILL)
    framed.paste(inner, (left, top))
    x = np.asarray(framed, np.float32).transpose(2, 0, 1) / 255
    return x, np.array((scale, left, top), np.float32)
