"""YOLO11's head to boxes."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import triton_python_backend_utils as pb_utils

CONFIDENCE = 0.25
IOU = 0.45
LIMIT = 300


class TritonPythonModel:
    """Non-maximum suppression by OpenCV, class by class."""

    def execute(self, requests: list[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """One request after the other; a row of `detections` is x1, y1, x2, y2, score, class, and zeros at the end."""
        responses = []
        for request in requests:
            heads = pb_utils.get_input_tensor_by_name(request, "output0").as_numpy()
            transforms = pb_utils.get_input_tensor_by_name(request, "transform").as_numpy()
            rows = np.zeros((len(heads), LIMIT, 6), np.float32)
            counts = np.zeros((len(heads), 1), np.int32)
            for index, (head, transform) in enumerate(zip(heads, transforms)):
                found = detections(head, *transform.tolist())[:LIMIT]
                rows[index, : len(found)], counts[index] = found, len(found)
            tensors = [pb_utils.Tensor("detections", rows), pb_utils.Tensor("num_detections", counts)]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses


def detections(head: np.ndarray, scale: float, left: float, top: float) -> np.ndarray:
    """float32[k,6]."""
    best = head[4:].max(axis=0)
    anchors = np.flatnonzero(best > CONFIDENCE)
    rows, scores = head[:, anchors], best[anchors]
    classes = rows[4:].argmax(axis=0).astype(np.int32)
    boxes = np.stack((rows[0] - rows[2] / 2, rows[1] - rows[3] / 2, rows[2], rows[3]), axis=1)
    nms: Any = cv2.dnn.NMSBoxesBatched  # it takes arrays, though its types say lists
    kept = np.asarray(nms(boxes, scores, classes, CONFIDENCE, IOU), np.intp).reshape(-1)
    boxes = boxes[kept]
    boxes[:, 2:] += boxes[:, :2]
    boxes = (boxes - np.array((left, top, left, top), np.float32)) / np.float32(scale)
    return np.column_stack((boxes, scores[kept], classes[kept].astype(np.float32)))
