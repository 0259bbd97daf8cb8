from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from by_hand import run_by_hand
from photos import noise

import ops
from ops import Array, TensorSpec
from pipeline import Deployment, Pipeline
from pipeline.graph import Graph
from pipeline.passes.cut import cut


def cropped(crop: int = 24, **resize: Any) -> Graph:
    pipeline = Pipeline("torchvision")
    image = pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))
    small = ops.Resize(**resize)(image)
    pipeline.output(y=ops.CenterCrop(height=crop, width=crop)(small))
    return pipeline.validate()


@pytest.mark.parametrize("resize", [{"shorter": 32}, {"height": 24, "width": 48}])
@pytest.mark.parametrize("filter", ["pillow_bilinear", "pillow_bicubic", "opencv_area"])
def test_a_resize_and_its_crop_become_one_step_with_the_same_bytes(filter: str, resize: dict[str, int]) -> None:
    graph = cropped(filter=filter, **resize)
    after, (change,) = cut(graph, Deployment(exact=True))
    assert [(step.name, type(step.op).__name__) for step in after.steps] == [("center_crop", "ResizeCrop")]
    assert (change.node, change.where) == ("resize, center_crop", graph.steps[1].where)
    assert change.saved_text.endswith(" less") or "less with resized_height=256, resized_width=341" in change.saved_text
    sample = {"image": noise(70, 90)}
    assert run_by_hand(after, sample)["y"].tobytes() == run_by_hand(graph, sample)["y"].tobytes()


@pytest.mark.parametrize(
    ("crop", "resize"),
    [
        (40, {"shorter": 32, "filter": "pillow_bicubic"}),
        (24, {"height": 20, "width": 50, "filter": "pillow_bicubic"}),
    ],
    ids=["a border all around", "a border above and below"],
)
def test_what_would_gain_nothing_stays(crop: int, resize: dict[str, Any]) -> None:
    graph = cropped(crop, **resize)
    after, changes = cut(graph, Deployment())
    assert after is graph
    assert changes == ()


def test_what_others_see_too_is_computed_whole() -> None:
    pipeline = Pipeline("seen")
    small = ops.Resize(shorter=32, filter="pillow_bicubic")(
        pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))
    )
    pipeline.output(y=ops.CenterCrop(height=24, width=24)(small), small=small)
    graph = pipeline.validate()
    assert cut(graph, Deployment())[0] is graph


@dataclass(frozen=True)
class OwnCrop(ops.CenterCrop):
    """The upper left corner."""

    def run(self, image: Array, out: Array | None = None) -> Array:
        return image[: self.height, : self.width].copy()


def test_a_users_op_that_is_derived_from_a_crop_stays() -> None:
    pipeline = Pipeline("own")
    image = pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    pipeline.output(y=OwnCrop(height=4, width=4)(ops.Resize(height=9, width=9, filter="pillow_bilinear")(image)))
    assert cut(pipeline.validate(), Deployment())[1] == ()
