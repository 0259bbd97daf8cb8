from __future__ import annotations

from typing import Any

import numpy as np

import ops
from ops import TensorSpec
from pipeline import Pipeline
from pipeline.graph import Graph
from pipeline.made_up import is_picture, made_up


class Length(ops.Op[ops.Edge]):
    """How many bytes a text has."""

    def infer(self, text: TensorSpec) -> TensorSpec:
        return TensorSpec("float32", (1,))

    def run(self, text: bytes, out: Any = None) -> Any:
        return np.float32([len(text)])


def graph() -> Graph:
    pipeline = Pipeline("all")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    numbers = pipeline.input("numbers", TensorSpec("float32", (2, 3)))
    pipeline.output(
        small=ops.Resize(height=8, width=8)(pixels),
        length=Length()(pipeline.input("text", ops.TEXT)),
        shares=ops.Softmax()(numbers),
    )
    return pipeline.validate()


def test_the_pipeline_answers_what_is_made_up_and_each_sample_is_another() -> None:
    made = made_up(graph(), 2)
    first, second = (sample["image"] for sample in made)
    assert first.startswith(b"\x89PNG")
    assert first != second
    assert made[0]["text"] != made[1]["text"]
    assert made[0]["numbers"].shape == (2, 3)
    assert made_up(graph(), 2)[1]["image"] == second


def test_an_input_is_a_picture_if_it_is_decoded() -> None:
    whole = graph()
    assert [value.name for value in whole.inputs if is_picture(value, whole)] == ["image"]
