"""NMS: of boxes that overlap, keep the best; and the greedy search that YoloBoxes shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .errors import SpecError
from .op import Edge, Op
from .spec import Array, Counted, TensorSpec, may_agree, require, require_flag, require_whole

MAX_CANDIDATES = 30_000  # Ultralytics' max_nms: bounds the time of a flood of boxes
BLOCK = 6000  # overlaps computed at once: enough to hide the cost of a call, few enough for the cache


class Detections(NamedTuple):
    """One row a detection, the highest score first."""

    boxes: Edge
    scores: Edge
    classes: Edge


@dataclass(frozen=True)
class NMS(Op[Detections]):
    """Drop every box that overlaps a better one of its class by more than iou_threshold.

    Boxes count whose score is above score_threshold; equal scores keep the order of the input. class_agnostic
    lets a box suppress those of other classes too. A row with a NaN is dropped.

    Input:      boxes    float32[n,4]                x1, y1, x2, y2
                scores   float32[n]                  a score a box
                classes  int32[n]                    a class a box
    Output:     boxes    float32[detections<=300,4]  the boxes kept, by descending score
                scores   float32[detections<=300]    their scores
                classes  int32[detections<=300]      their classes
    Errors:     SpecError when the inputs are not of one length, or an attribute is out of range.
    Reference:  torchvision.ops.nms, one class at a time
    Deviation:  overlaps are compared in float64 (torchvision: in the dtype of the boxes); of more than 30,000 boxes
                above the threshold the best 30,000 count

    >>> boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 10]], np.float32)
    >>> NMS().run(boxes, np.array([0.5, 0.9, 0.7], np.float32), np.zeros(3, np.int32))[1].round(1).tolist()
    [0.8999999761581421, 0.699999988079071]
    """

    iou_threshold: float = 0.45
    score_threshold: float = 0.0
    max_detections: int = 300
    class_agnostic: bool = False

    def infer(
        self, boxes: TensorSpec, scores: TensorSpec, classes: TensorSpec
    ) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        require(boxes, "boxes", dtype=("float32",), rank=2)
        if not may_agree(boxes.shape[1], 4):
            raise SpecError(f"{boxes}: a box has {boxes.shape[1]} values, wanted 4", fix="give [n,4]", input="boxes")
        require(scores, "scores", dtype=("float32",), rank=1)
        require(classes, "classes", dtype=("int32",), rank=1, fix='give int32[n]; Cast("int32") makes it')
        for name, spec in (("scores", scores), ("classes", classes)):
            if not may_agree(spec.shape[0], boxes.shape[0]):
                raise SpecError(
                    f"{spec}: there are {spec.shape[0]} {name} but {boxes.shape[0]} boxes",
                    fix=f"give one of {name} a box",
                    input=name,
                )
        check_threshold("score_threshold", self.score_threshold, -np.inf, np.inf)
        require_flag("class_agnostic", self.class_agnostic)
        return detection_specs(self.iou_threshold, self.max_detections)

    def run(self, boxes: Array, scores: Array, classes: Array) -> tuple[Array, Array, Array]:
        candidates = np.flatnonzero(scores > self.score_threshold)
        boxes, scores, classes = boxes[candidates], scores[candidates], classes[candidates]
        groups = None if self.class_agnostic else classes
        kept = greedy_nms(boxes, scores, groups, self.iou_threshold, self.max_detections)
        return boxes[kept], scores[kept], classes[kept]


def greedy_nms(
    boxes_xyxy: Array, scores: Array, groups: Array | None, iou_threshold: float, max_detections: int
) -> Array:
    """The indices of the boxes to keep, best first; a box is compared with those of its group only.

    A box with a NaN is dropped. A block of the best boxes is compared with all that are left, then those it suppresses
    are gone: few calls where boxes are few, and memory stays linear where they are many.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[~np.isnan(boxes_xyxy[order]).any(axis=1)][:MAX_CANDIDATES]
    corners = np.ascontiguousarray(boxes_xyxy[order].T, np.float64)
    group = np.zeros(order.size, np.int32) if groups is None else groups[order]
    kept: list[int] = []
    while order.size and len(kept) < max_detections:
        rows = max(1, BLOCK // order.size)
        suppressed = (_iou(corners[:, :rows], corners) > iou_threshold) & (group[:rows, None] == group)
        alive = np.ones(order.size, bool)
        for row, index in enumerate(order[:rows].tolist()):
            if alive[row]:
                kept.append(index)
                alive &= ~suppressed[row]
        rest = np.flatnonzero(alive[rows:]) + rows
        order, corners, group = order[rest], corners.take(rest, axis=1), group[rest]
    return np.array(kept[:max_detections], np.intp)


def _iou(a: Array, b: Array) -> Array:
    """Overlap over union of each of a with each of b; corners are float64[4,n], rows of x1, y1, x2, y2."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        overlap = _shared(a[0], a[2], b[0], b[2])
        overlap *= _shared(a[1], a[3], b[1], b[3])
        union = _area(a)[:, None] + _area(b)
        union -= overlap
        overlap /= union
    return overlap


def _shared(a_low: Array, a_high: Array, b_low: Array, b_high: Array) -> Array:
    """Along one axis, how far each of a and each of b lie over each other."""
    shared: Array = np.minimum(a_high[:, None], b_high)
    shared -= np.maximum(a_low[:, None], b_low)
    return np.maximum(shared, 0, out=shared)


def _area(corners: Array) -> Array:
    area: Array = (corners[2] - corners[0]) * (corners[3] - corners[1])
    return area


def detection_specs(iou_threshold: float, max_detections: int) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    """What an op with Detections makes.

    Errors: SpecError when an attribute is out of range.
    """
    check_threshold("iou_threshold", iou_threshold, 0, 1)
    require_whole("max_detections", max_detections)
    rows = Counted("detections", max_detections)
    return TensorSpec("float32", (rows, 4)), TensorSpec("float32", (rows,)), TensorSpec("int32", (rows,))


def check_threshold(name: str, value: float, low: float, high: float) -> None:
    """Errors: SpecError for a threshold that is out of range or NaN."""
    if not low <= value <= high:
        raise SpecError(f"{name} is {value}, wanted {low} to {high}", fix=f"give {name} a value in this range")
