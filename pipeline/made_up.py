"""Made up: samples that a pipeline takes, where nobody gave any."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from ops import DecodeImage

from .declaration import Input
from .graph import Graph

_TEXT = "一只猫坐在窗前。A cat sits by the window."
_SIZE = 64  # of an axis that is of any


def made_up(graph: Graph, count: int) -> list[dict[str, Any]]:
    """So many, each other than the rest and the same each time: pictures, texts, and random numbers."""
    return [_sample(graph, seed) for seed in range(count)]


def is_picture(value: Input, graph: Graph) -> bool:
    """Whether an input holds an encoded picture."""
    return not value.spec.shape and any(isinstance(step.op, DecodeImage) for step in graph.consumers()[value.name])


def _sample(graph: Graph, seed: int) -> dict[str, Any]:
    return {value.name: _value(value, graph, np.random.default_rng(seed)) for value in graph.inputs}


def _value(value: Input, graph: Graph, random: np.random.Generator) -> Any:
    if is_picture(value, graph):
        return _picture(random)
    if not value.spec.shape:
        return _TEXT[: int(random.integers(4, len(_TEXT)))]
    sizes = [dim if isinstance(dim, int) else _SIZE for dim in value.spec.max_shape or value.spec.shape]
    if value.spec.dtype == "bytes":
        return np.full(sizes, _TEXT.encode(), object)
    if value.spec.dtype.startswith("float"):
        return random.normal(size=sizes).astype(value.spec.numpy)
    return random.integers(0, 2, sizes).astype(value.spec.numpy)


def _picture(random: np.random.Generator) -> bytes:
    """A PNG of smooth colours with a few shapes on it."""
    height, width = (int(size) for size in random.integers(90, 200, 2))
    small = random.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    picture = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(4):
        x, y, size = (int(random.integers(0, limit)) for limit in (width, height, 40))
        colour = tuple(int(part) for part in random.integers(0, 256, 3))
        cv2.rectangle(picture, (x, y), (x + size, y + size), colour, -1)
    return bytes(cv2.imencode(".png", picture)[1])
