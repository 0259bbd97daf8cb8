"""YoloBoxes: the raw head of YOLOv8 or YOLO11 to boxes on the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import SpecError
from .letterbox import unletterbox
from .nms import Detections, check_threshold, detection_specs, greedy_nms
from .op import Op
from .scratch import scratch
from .spec import Array, TensorSpec, may_agree, require, require_flag


@dataclass(frozen=True)
class YoloBoxes(Op[Detections]):
    """Decode the head, drop what overlaps, and move the boxes back to the source picture.

    An anchor counts with its best class, where that scores above conf_threshold. The number of classes is the
    model's. class_agnostic lets a box suppress those of other classes too. An anchor with a NaN is dropped.

    Input:      head       float32[4+classes,anchors]  centre x, y, width, height in letterboxed pixels; class scores
                transform  float32[6]                  of Letterbox
    Output:     boxes      float32[detections<=300,4]  x1, y1, x2, y2 in source pixels, not clipped to the picture
                scores     float32[detections<=300]    descending
                classes    int32[detections<=300]      0..classes-1
    Errors:     SpecError when head is not one of YOLOv8/11, or an attribute is out of range.
    Reference:  Ultralytics' predictor (multi_label=False), unclipped
    Deviation:  1.5 px, and 0.005 of score, over the whole of YOLO11n; overlaps as in NMS

    >>> head = np.array([[50, 40, 20, 10, 0.9], [50, 41, 20, 10, 0.8]], np.float32).T
    >>> transform = np.array([100, 200, 50, 100, 25, 0], np.float32)
    >>> YoloBoxes().run(head, transform)[0].tolist()
    [[80.0, 20.0, 120.0, 40.0]]
    """

    conf_threshold: float = 0.25
    iou_threshold: float = 0.45
    max_detections: int = 300
    class_agnostic: bool = False

    def infer(self, head: TensorSpec, transform: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        require(head, "head", dtype=("float32",), rank=2)
        rows, anchors = head.shape
        if isinstance(rows, int) and rows < 5:
            raise SpecError(
                f"{head}: head has {rows} rows, wanted 4 and one a class",
                fix="give the output of a YOLOv8/11 detection model, [4+classes,anchors]",
                input="head",
            )
        if isinstance(rows, int) and isinstance(anchors, int) and rows > anchors:
            raise SpecError(
                f"{head}: head has {rows} rows but {anchors} anchors; is it transposed?",
                fix=f"give it as [{anchors},{rows}]: [4+classes,anchors], as YOLOv8/11 are exported",
                input="head",
            )
        require(transform, "transform", dtype=("float32",), rank=1)
        if not may_agree(transform.shape[0], 6):
            raise SpecError(
                f"{transform}: transform has {transform.shape[0]} values, wanted 6",
                fix="give the transform of the Letterbox that made the model's input",
                input="transform",
            )
        check_threshold("conf_threshold", self.conf_threshold, 0, 1)
        require_flag("class_agnostic", self.class_agnostic)
        return detection_specs(self.iou_threshold, self.max_detections)

    def run(self, head: Array, transform: Array) -> tuple[Array, Array, Array]:
        # Of every anchor; the rest is done for the few that pass.
        best = head[4:].max(axis=0, out=scratch("best", head.shape[1:], np.float32))
        anchors = np.flatnonzero(best > self.conf_threshold)
        rows = head[:, anchors]
        centre, half = rows[:2], rows[2:4] / 2
        with np.errstate(over="ignore", invalid="ignore"):
            boxes = np.concatenate((centre - half, centre + half)).T
        scores, classes = best[anchors], rows[4:].argmax(axis=0).astype(np.int32)
        groups = None if self.class_agnostic else classes
        kept = greedy_nms(boxes, scores, groups, self.iou_threshold, self.max_detections)
        return unletterbox(boxes[kept], transform), scores[kept], classes[kept]
