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
CAMERA = (30, 40, 3)
PIXEL_OPS: dict[str, ops.Op[Edge]] = {
    "swap": ops.SwapChannels(),
    "cast": ops.Cast("float32"),
    "linear": ops.Resize(height=20, width=24),
    "area": ops.Resize(height=17, width=13, filter="opencv_area"),
    "cubic": ops.Resize(shorter=24, filter="opencv_cubic"),
    "larger": ops.Resize(height=50, width=60),
    "crop": ops.CenterCrop(height=16, width=21),
    "pad": ops.Pad(top=1, left=2, value=114),
}
LAST = ("none", "scale", "softmax", "top_k", "above", "bank")


@dataclass(frozen=True)
class Declaration:
    """frame: how a picture gets its size; none for a pipeline of vectors, camera for pixels on which many ops work.
    before: ops in front of the first model. pixels: the same, of a camera's picture. twice: two models look at it.
    models: how many in a row. exposed: a value inside is an output, too. gears: of the batch, where sizes are none.
    """

    frame: str
    before: tuple[str, ...]
    pixels: tuple[str, ...]
    twice: bool
    models: int
    mixing: bool
    last: str
    exposed: bool
    gears: tuple[int, ...]
    streams: int
    delay_us: int

    def compile(self, folder: Path, name: str, **fields: Any) -> tuple[Plan, list[dict[str, Any]]]:
        """The pipeline, and two samples for it."""
        gears = (1,) if self.frame == "sizes" else self.gears
        settings = {"gears": gears, "streams": self.streams, "batching": Batching(max_delay_us=self.delay_us)}
        return self.declare(folder, name).compile(**settings, **fields), self.samples()

    def declare(self, folder: Path, name: str) -> Pipeline:
        pipeline = Pipeline(name)
        if self.frame == "none":
            value = self._vector(pipeline, folder)
            outputs = self._last(pipeline, value)
        else:
            spec = ops.TensorSpec("uint8", CAMERA) if self.frame == "camera" else ops.ENCODED_IMAGE
            image = pipeline.input("image", spec)
            value = self._picture(image, folder)
            outputs = self._last(pipeline, value)
            if self.twice and self.frame != "sizes":  # one op picks the size of a sample
                outputs["again"] = self._picture(image, folder)
        made = self.frame != "none" or self.before or self.mixing or self.models
        pipeline.output(**outputs, **({"inside": value} if self.exposed and made else {}))
        return pipeline

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

    def _picture(self, image: Edge, folder: Path) -> Edge:
        if self.frame == "camera":
            for op in self.pixels:
                image = PIXEL_OPS[op](image)
            return self._model(image, folder)
        pixels = ops.DecodeImage(color="RGB")(image)
        if "swap" in self.pixels:
            pixels = ops.SwapChannels()(pixels)
        framed = FRAMES[self.frame](pixels)
        image = framed.image if isinstance(FRAMES[self.frame], ops.Letterbox) else framed
        if self.frame == "pillow" and "crop" in self.pixels:
            image = ops.CenterCrop(height=9, width=10)(image)
        return self._model(image, folder)

    def _model(self, image: Edge, folder: Path) -> Edge:
        x = ops.Normalize(mean=(0.4, 0.5, 0.6), std=(0.3, 0.2, 0.1))(image)
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

    def samples(self) -> list[dict[str, Any]]:
        if self.frame == "none":
            return list(tiny.vectors(2))
        if self.frame == "camera":
            return [{"image": scene(*CAMERA[:2], seed)} for seed in (1, 2)]
        pictures = (scene(30, 40, 1), scene(44, 21, 2))
        return [{"image": cv2.imencode(".png", picture)[1].tobytes()} for picture in pictures]


def _one_cast(names: list[str]) -> tuple[str, ...]:
    first = names.index("cast") if "cast" in names else 0
    return tuple(name for index, name in enumerate(names) if name != "cast" or index == first)


def declarations() -> st.SearchStrategy[Declaration]:
    return st.builds(
        Declaration,
        frame=st.sampled_from(("none", "none", "camera", "camera", "camera", *FRAMES)),
        before=st.lists(st.sampled_from(sorted(VECTOR_OPS)), max_size=2).map(tuple),
        pixels=st.lists(st.sampled_from(("cast", *PIXEL_OPS)), min_size=1, max_size=5).map(_one_cast),
        twice=st.sampled_from((False, False, True)),
        models=st.integers(0, 2),
        mixing=st.sampled_from((False, False, True)),
        last=st.sampled_from(LAST),
        exposed=st.booleans(),
        gears=st.sampled_from(((1,), (2,), (1, 2), (1, 4), (2, 3))),
        streams=st.sampled_from((1, 1, 2)),
        delay_us=st.sampled_from((0, 500)),
    )
