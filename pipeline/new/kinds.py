"""Kinds: what a model is for, by the form of its head; what tells, and what is only likely."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from ge_engine.meaning import probabilities_by
from ops import TensorSpec

from .look import Look


class Kind(Enum):
    """What it makes of its input."""

    DETECTOR = "a picture to boxes, by the head of a YOLOv8 or YOLO11"
    CLASSIFIER = "a picture to classes"
    IMAGE_ENCODER = "a picture to a vector"
    MASKS = "a picture to a map of it"
    TEXT_CLASSIFIER = "a text to classes"
    TEXT_ENCODER = "a text to a vector"
    TOKENS = "a text to a vector for each piece of it"
    PICTURE = "a picture to what the model makes of it"
    TEXT = "a text to what the model makes of it"
    UNKNOWN = "a sample to what the model makes of it"


@dataclass(frozen=True)
class Guess:
    """The kind, and what speaks against being sure; ends: the operator, if what the head gives are probabilities."""

    kind: Kind
    doubt: str = ""
    ends: str = ""


FLOATS = ("float32", "float16")  # ops read the first
_VECTOR = re.compile(r"feat|embed|emb|vector|pooled|latent", re.IGNORECASE)
_CLASS = re.compile(r"logit|prob|class|score|softmax|cls|label|tags?\b", re.IGNORECASE)
_USUAL_LENGTHS = (128, 256, 384, 512, 640, 768, 1024, 1280, 1536, 2048)  # of vectors
_IMAGENET = (1000, 1001, 21841)


def kind_of(seen: Look) -> Guess:
    """What the model is for."""
    name, head = seen.outputs[0]
    plain = len(seen.outputs) == 1 and head.is_fixed and head.dtype in FLOATS
    if seen.picture is not None:
        return _of_picture(seen, name, head) if plain else Guess(Kind.PICTURE, _several(seen))
    if all(entry.is_ids for entry in seen.inputs) and head.is_fixed and head.dtype in FLOATS:
        if head.rank == 1:
            return _of_text(seen, name, head)
        if head.rank == 2 and head.shape[0] == seen.inputs[0].spec.shape[0]:
            return Guess(Kind.TOKENS)
    return Guess(Kind.UNKNOWN, "its inputs are neither one picture nor the ids of a text")


def _several(seen: Look) -> str:
    return f"it gives {', '.join(f'{name} {spec}' for name, spec in seen.outputs[:4])}"


def _of_text(seen: Look, name: str, head: TensorSpec) -> Guess:
    if _VECTOR.search(name):
        return Guess(Kind.TEXT_ENCODER)
    if len(seen.outputs) > 1:
        return Guess(Kind.TEXT, _several(seen))
    return _classes_or_vector(seen, name, head, Kind.TEXT_CLASSIFIER, Kind.TEXT_ENCODER)


def _of_picture(seen: Look, name: str, head: TensorSpec) -> Guess:
    labels = len(seen.model.labels)
    if head.rank == 1:
        return _classes_or_vector(seen, name, head, Kind.CLASSIFIER, Kind.IMAGE_ENCODER)
    if head.rank == 3:
        return Guess(Kind.MASKS)
    doubt = _against_detector(seen, head, labels) if head.rank == 2 else _several(seen)
    return Guess(Kind.PICTURE, doubt) if doubt else Guess(Kind.DETECTOR)


def _against_detector(seen: Look, head: TensorSpec, labels: int) -> str:
    """Why it is no head of YOLOv8 or 11, [4+classes,anchors]; "" where it is one."""
    assert seen.picture is not None
    assert seen.picture.picture is not None
    _, height, width = seen.picture.picture
    rows, anchors = head.shape
    if anchors != height * width * 21 // 1024:  # strides 8, 16 and 32
        return f"a head of {head}, and YOLOv8 has {height * width * 21 // 1024} anchors at {height}x{width}"
    if not isinstance(rows, int) or rows < 5 or (labels and rows != 4 + labels):
        return f"a head of {head}, and YOLOv8 has 4 rows and one for each of {labels or 'its'} classes"
    return ""


def _classes_or_vector(seen: Look, name: str, head: TensorSpec, classes: Kind, vector: Kind) -> Guess:
    count, labels = head.shape[0], len(seen.model.labels)
    ends = probabilities_by(seen.model.skeleton.model.graph, name)
    if ends:
        return Guess(classes, ends=ends)
    if (labels and labels == count) or count in _IMAGENET or _CLASS.search(name):
        return Guess(classes)
    if _VECTOR.search(name):
        return Guess(vector)
    if count in _USUAL_LENGTHS:
        return Guess(vector, f"{count} numbers are usual for a vector, but they may be classes")
    return Guess(classes, f"{count} numbers may be classes, or a vector")
