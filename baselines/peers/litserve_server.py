"""LitServe: an HTTP server around a class, with batches of its own making. It takes the model, and a port."""

from __future__ import annotations

import base64
import os
import sys
from typing import Any

import cv2
import litserve
import numpy as np
import onnxruntime

SHORTER = 256
SIZE = 224
MEAN = np.array((0.485, 0.456, 0.406), np.float32)
STD = np.array((0.229, 0.224, 0.225), np.float32)


class Orientation(litserve.LitAPI):  # type: ignore[misc]
    """{"image": a JPEG in base64} to {"scores": four numbers}: bytes alone it cannot hand to its workers."""

    def __init__(self, model: str) -> None:
        super().__init__(max_batch_size=8, batch_timeout=0.002)
        self.model = model

    def setup(self, device: str) -> None:
        cv2.setNumThreads(1)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])

    def decode_request(self, request: dict[str, str]) -> np.ndarray[Any, Any]:
        """float32[3,224,224]."""
        image = cv2.imdecode(np.frombuffer(base64.b64decode(request["image"]), np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        scale = SHORTER / min(image.shape[:2])
        resized = cv2.resize(image, (int(image.shape[1] * scale), int(image.shape[0] * scale)))
        top, left = (round((side - SIZE) / 2) for side in resized.shape[:2])
        rgb = cv2.cvtColor(resized[top : top + SIZE, left : left + SIZE], cv2.COLOR_BGR2RGB)
        x: np.ndarray[Any, Any] = (rgb.astype(np.float32) / 255 - MEAN) / STD
        return np.transpose(x, (2, 0, 1))

    def predict(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        scores: np.ndarray[Any, Any] = self.session.run(None, {"x": np.ascontiguousarray(x)})[0]
        return scores

    def encode_response(self, output: np.ndarray[Any, Any]) -> dict[str, list[float]]:
        return {"scores": output.tolist()}


if __name__ == "__main__":
    cores = len(os.sched_getaffinity(0))
    server = litserve.LitServer(Orientation(sys.argv[1]), accelerator="cpu", workers_per_device=cores)
    server.run(host="127.0.0.1", port=int(sys.argv[2]), generate_client_file=False, log_level="warning")
