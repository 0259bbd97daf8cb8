"""YOLO11 from a JPEG: the loop that a good engineer writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from .runtime import open_session

Array = np.ndarray[Any, np.dtype[Any]]

SIZE = 640
FILL = (114, 114, 114)
CONFIDENCE = 0.25
IOU = 0.45


class Found(NamedTuple):
    """boxes: x1, y1, x2, y2 in pixels of the picture."""

    boxes: Array
    scores: Array
    classes: Array


class Loop:
    """OpenCV, numpy, ONNX Runtime."""

    def __init__(self, model: Path, threads: int = 0) -> None:
        self.session = open_session(model, threads)

    def __call__(self, jpeg: bytes) -> Found:
        image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        x, ratio, left, top = letterbox(image)
        (head,) = self.session.run(None, {"images": x})
        return detections(head[0], ratio, left, top)


def letterbox(image: Array) -> tuple[Array, float, int, int]:
    """The model's input, and what takes its boxes back."""
    height, width = image.shape[:2]
    ratio = min(SIZE / height, SIZE / width)
    inner = round(width * ratio), round(height * ratio)
    left, top = (SIZE - inner[0]) // 2, (SIZE - inner[1]) // 2
    resized = cv2.resize(image, inner, interpolation=cv2.INTER_LINEAR)
    right, bottom = SIZE - inner[0] - left, SIZE - inner[1] - top
    framed = cv2.copyMakeBorder(resized, top, bottom, left, right, cv2.BORDER_CONSTANT, value=FILL)
    x = framed[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32, order="C")
    x /= 255
    return x, ratio, left, top


def detections(head: Array, ratio: float, left: int, top: int) -> Found:
    """The boxes that are left after non-maximum suppression, class by class."""
    best = head[4:].max(axis=0)
    anchors = np.flatnonzero(best > CONFIDENCE)
    rows, scores = head[:, anchors], best[anchors]
    classes = rows[4:].argmax(axis=0).astype(np.int32)
    corners = np.stack((rows[0] - rows[2] / 2, rows[1] - rows[3] / 2, rows[2], rows[3]), axis=1)
    nms: Any = cv2.dnn.NMSBoxesBatched  # it takes arrays, though its types say lists
    kept = np.asarray(nms(corners, scores, classes, CONFIDENCE, IOU), np.intp).reshape(-1)
    boxes = corners[kept]
    boxes[:, 2:] += boxes[:, :2]
    boxes -= (left, top, left, top)
    boxes /= ratio
    return Found(boxes, scores[kept], classes[kept])
