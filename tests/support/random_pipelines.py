"""Valid pipelines of every shape that an export has to express, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import tiny
from hypothesis import strategies as st
from photos import scene

import ops
from ge_engine import Model
from ops import Edge
from pipeline import Batching, Pipeline, Plan

VECTOR_OPS = {
    "scale": tiny.Scale(2.0),
    "same": tiny.Same(),
    "picky": tiny.Picky(),
    "l2": ops.L2Normalize(),
    "softmax": ops.Softmax(),
}
FRAMES = {
    "resize": ops.Resize(height=12, width=16),
    "pillow": ops.Resize(height=12, width=12, filter="pillow_bicubic"),
    "crop": ops.CenterCrop(height=10, width=8),
    "letterbox": ops.Letterbox(height=16, width=16),
    "sizes": ops.Letterbox(sizes=((16, 16), (16, 8))),
}
LAST = ("none", "scale", "softmax", "top_k", "above", "bank")


@dataclass(frozen=True)
class Declaration:
    """frame: how a picture gets its size; none for a pipeline of vectors. before, after: ops on the host. models: how
    many in a row. exposed: a value inside is an output, too. gears: of the batch, where the sizes are not gears.
    """

    frame: str
    before: tuple[str, ...]
    models: int
    mixing: bool
    last: str
    exposed: bool
    gears: tuple[int, ...]
    streams: int
    delay_us: int

    def compile(self, folder: Path, name: str) -> tuple[Plan, list[dict[str, Any]]]:
        """The pipeline, and two samples for it."""
        pipeline = Pipeline(name)
        value = self._vector(pipeline, folder) if self.frame == "none" else self._picture(pipeline, folder)
        outputs = self._last(pipeline, value)
        pipeline.output(**outputs, **({"inside": value} if self.exposed else {}))
        gears = (1,) if self.frame == "sizes" else self.gears
        plan = pipeline.compile(gears=gears, streams=self.streams, batching=Batching(max_delay_us=self.delay_us))
        return plan, self._samples()

    def _vector(self, pipeline: Pipeline, folder: Path) -> Edge:
        value = pipeline.input("x", tiny.VECTOR)
        for op in self.before:
            value = VECTOR_OPS[op](value)
        if self.mixing:
            value = Model(tiny.mixing_model(folder))(value)
        for number in range(self.models):
            size = 8 if number == 0 else 4
            value = Model(tiny.vector_model(folder, f"dense{size}", size))(value)
            value = tiny.Scale(0.5)(value)
        return value

    def _picture(self, pipeline: Pipeline, folder: Path) -> Edge:
        pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
        framed = FRAMES[self.frame](pixels)
        image = framed.image if isinstance(FRAMES[self.frame], ops.Letterbox) else framed
        x = ops.Normalize(mean=(0.4,) * 3, std=(0.3,) * 3)(image)
        value: Edge = Model(tiny.picture_model(folder))(x)
        return value

    def _last(self, pipeline: Pipeline, value: Edge) -> dict[str, Edge]:
        if self.last == "top_k":
            scores, classes, labels = ops.TopK(k=2)(value)
            return {"scores": scores, "classes": classes, "labels": labels}
        if self.last == "above":
            return {"above": tiny.Above(limit=3)(value)}
        if self.last == "bank":
            size = 8 if self.frame == "none" and not self.models else 4
            bank = np.random.default_rng(3).normal(size=(5, size)).astype(np.float32)
            return {"likeness": ops.Similarity()(value, pipeline.constant("bank", bank))}
        return {"y": VECTOR_OPS["same" if self.last == "none" else self.last](value)}

    def _samples(self) -> list[dict[str, Any]]:
        if self.frame == "none":
            return list(tiny.vectors(2))
        pictures = (scene(30, 40, 1), scene(44, 21, 2))
        return [{"image": cv2.imencode(".png", picture)[1].tobytes()} for picture in pictures]


def declarations() -> st.SearchStrategy[Declaration]:
    return st.builds(
        Declaration,
        frame=st.sampled_from(("none", "none", *FRAMES)),
        before=st.lists(st.sampled_from(sorted(VECTOR_OPS)), max_size=2).map(tuple),
        models=st.integers(0, 2),
        mixing=st.sampled_from((False, False, True)),
        last=st.sampled_from(LAST),
        exposed=st.booleans(),
        gears=st.sampled_from(((1,), (2,), (1, 2), (1, 4), (2, 3))),
        streams=st.sampled_from((1, 1, 2)),
        delay_us=st.sampled_from((0, 500)),
    )
