from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import tiny
from by_hand import run_by_hand
from photos import scene

import ops
from ge_engine import Model
from ops import TensorSpec
from pipeline import Deployment, Pipeline
from pipeline.passes.share import share


def two_models(folder: Path) -> Pipeline:
    """Each with a chain of its own, as two towers that a function declares."""
    pipeline = Pipeline("two")
    jpeg = pipeline.input("image", ops.ENCODED_IMAGE)
    for name, mean in (("a", 0.2), ("b", 0.4)):
        pixels = ops.Resize(height=16, width=16)(ops.DecodeImage(color="RGB")(jpeg))
        x = ops.Normalize(mean=(mean,) * 3, std=(1,) * 3)(pixels)
        pipeline.output(**{name: Model(tiny.picture_model(folder, name))(x)})
    return pipeline


def test_a_picture_for_two_models_is_decoded_and_resized_once(tmp_path: Path) -> None:
    pipeline = two_models(tmp_path)
    graph, changes = share(pipeline.validate(), Deployment())
    names = [step.name for step in graph.steps]
    assert names == ["decode_image", "resize", "normalize", "a", "normalize_2", "b"]
    assert [(change.node, change.after, change.saved) for change in changes] == [
        ("decode_image_2", "decode_image serves both", None),
        ("resize_2", "resize serves both", 16 * 16 * 3),
    ]
    jpeg = cv2.imencode(".jpg", scene(40, 50, 1))[1].tobytes()
    with pipeline.compile(exact=True).session() as session:
        got, want = session.run(image=jpeg), run_by_hand(pipeline.validate(), {"image": jpeg})
    assert {name: value.tobytes() for name, value in got.items()} == {n: v.tobytes() for n, v in want.items()}


def test_another_attribute_another_input_or_a_users_own_op_is_not_shared() -> None:
    pipeline = Pipeline("apart")
    image = pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))
    twin = pipeline.input("twin", ops.TensorSpec("uint8", ("H", "W", 3)))
    small, large = ops.Resize(height=4, width=4)(image), ops.Resize(height=8, width=8)(image)
    other = ops.Resize(height=4, width=4)(twin)
    pipeline.output(small=small, large=large, other=other, a=tiny.Same()(image), b=tiny.Same()(image))
    graph = pipeline.validate()
    after, changes = share(graph, Deployment())
    assert after.steps == graph.steps
    assert changes == ()


def test_two_outputs_may_show_what_is_shared() -> None:
    pipeline = Pipeline("shown")
    image = pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))
    pipeline.output(a=ops.Resize(height=4, width=4)(image), b=ops.Resize(height=4, width=4)(image))
    with pipeline.compile().session() as session:
        answer = session.run(image=scene(9, 9, 1))
    assert answer["a"].tobytes() == answer["b"].tobytes()
    assert not np.shares_memory(answer["a"], answer["b"])


def test_a_border_of_minus_zero_is_not_one_of_zero() -> None:
    pipeline = Pipeline("borders")
    image = pipeline.input("image", TensorSpec("float32", ("H", "W", 3)))
    pipeline.output(a=ops.Pad(top=1, value=0.0)(image), b=ops.Pad(top=1, value=-0.0)(image))
    assert share(pipeline.validate(), Deployment())[1] == ()
