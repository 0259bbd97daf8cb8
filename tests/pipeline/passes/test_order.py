from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import tiny
from by_hand import run_by_hand
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from photos import noise, scene

import ops
from ge_engine import Model
from ops import Array, Edge, TensorSpec
from pipeline import Deployment, Pipeline
from pipeline.graph import Graph
from pipeline.passes.change import BITWISE, ONE_STEP, within
from pipeline.passes.order import order

FRAME = TensorSpec("uint8", (60, 80, 3))


def frames(chain: Callable[[Edge], Edge], spec: TensorSpec = FRAME) -> Graph:
    pipeline = Pipeline("frames")
    pipeline.output(y=chain(pipeline.input("frame", spec)))
    return pipeline.validate()


def normalize(image: Edge) -> Edge:
    return ops.Normalize(mean=(0.4, 0.5, 0.6), std=(0.3, 0.2, 0.1))(image)


def ordered(graph: Graph, exact: bool = False) -> tuple[list[str], set[str]]:
    """The nodes in their new order, and how exact that is."""
    after, changes = order(graph, Deployment(exact=exact))
    return [step.name for step in after.steps], {change.exactness for change in changes}


def same_answer(graph: Graph, sample: dict[str, object]) -> None:
    after, _ = order(graph, Deployment(exact=True))
    got, want = (run_by_hand(each, sample)["y"] for each in (after, graph))
    assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())


OPENCV = ("opencv_linear", "opencv_area", "opencv_cubic", "opencv_nearest_exact")
SIZES = st.tuples(*[st.integers(1, 90)] * 4)  # from height, width to height, width
SMALLER = {
    "resize": ops.Resize(height=30, width=40),
    "area": ops.Resize(height=31, width=47, filter="opencv_area"),
    "nearest": ops.Resize(height=31, width=47, filter="opencv_nearest_exact"),
    "pillow": ops.Resize(shorter=20, filter="pillow_bicubic"),
    "center_crop": ops.CenterCrop(height=21, width=33),
}


@pytest.mark.parametrize("name", SMALLER)
def test_a_swap_moves_behind_what_makes_the_picture_smaller(name: str) -> None:
    graph = frames(lambda x: SMALLER[name](ops.SwapChannels()(x)))
    assert ordered(graph) == ([graph.steps[1].name, "swap_channels"], {BITWISE})
    same_answer(graph, {"frame": noise(60, 80)})


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([*OPENCV, "pillow_bilinear"]), st.sampled_from([np.uint8, np.float32]), SIZES, st.integers(0, 1000)
)
def test_a_resize_treats_channels_as_alike_as_the_pass_says(
    filter: str, dtype: Any, sizes: tuple[int, int, int, int], seed: int
) -> None:
    assume(dtype == np.uint8 or filter in OPENCV)
    resize = ops.Resize(height=sizes[2], width=sizes[3], filter=filter)
    spec = TensorSpec(dtype, (1000, 1000, 3))
    _, changes = order(frames(lambda x: resize(ops.SwapChannels()(x)), spec), Deployment())
    image = np.random.default_rng(seed).integers(0, 256, (*sizes[:2], 3)).astype(dtype)
    gap = np.abs(resize.run(image[:, :, ::-1].copy()).astype(float) - resize.run(image)[:, :, ::-1])
    most = {BITWISE: 0.0, within(1e-6): 255e-6, ONE_STEP: 1.0}
    assert gap.max() <= most[changes[0].exactness]


@pytest.mark.parametrize(
    ("filter", "dtype"), [("opencv_cubic", "uint8"), ("opencv_linear", "float32"), ("opencv_area", "float32")]
)
def test_exact_leaves_a_swap_where_opencv_rounds_by_place(filter: str, dtype: str) -> None:
    resize = ops.Resize(height=30, width=40, filter=filter)
    graph = frames(lambda x: resize(ops.SwapChannels()(x)), TensorSpec(dtype, (60, 80, 3)))
    assert ordered(graph, exact=True) == (["swap_channels", "resize"], set())
    assert ordered(graph)[0] == ["resize", "swap_channels"]


def test_a_swap_moves_behind_a_letterbox_whose_border_is_grey() -> None:
    graph = frames(lambda x: ops.Letterbox(height=32, width=32)(ops.SwapChannels()(x)).image)
    assert ordered(graph) == (["letterbox", "swap_channels"], {BITWISE})
    same_answer(graph, {"frame": noise(60, 80)})


@pytest.mark.parametrize(
    "chain",
    [lambda x: ops.Cast("float32")(ops.SwapChannels()(x)), lambda x: ops.SwapChannels()(ops.Cast("float32")(x))],
)
def test_normalize_takes_in_a_swap_and_a_cast(chain: Callable[[Edge], Edge]) -> None:
    graph = frames(lambda x: normalize(chain(x)))
    assert ordered(graph) == (["normalize"], {BITWISE})
    same_answer(graph, {"frame": noise(60, 80)})


def test_what_is_converted_first_is_resized_first() -> None:
    graph = frames(lambda x: normalize(ops.Resize(height=22, width=22)(ops.Cast("float32")(ops.SwapChannels()(x)))))
    assert ordered(graph) == (["resize", "normalize"], {BITWISE, ONE_STEP})
    assert ordered(graph, exact=True) == (["swap_channels", "cast", "resize", "normalize"], set())
    same_answer(graph, {"frame": noise(60, 80)})
    (cast, swap) = order(graph, Deployment())[1]
    assert (cast.node, cast.before, cast.after) == ("cast", "on float32[60,80,3]", "in normalize")
    assert cast.where == graph.steps[1].where
    assert swap.saved == 2 * 60 * 80 * 3


def test_what_moves_says_what_it_works_on_then_and_what_that_saves() -> None:
    (change,) = order(frames(lambda x: ops.Resize(height=6, width=8)(ops.SwapChannels()(x))), Deployment())[1]
    assert (change.before, change.after) == ("on uint8[60,80,3]", "behind resize, on uint8[6,8,3]")
    assert change.saved == 2 * (60 * 80 - 6 * 8) * 3
    any_size = TensorSpec("uint8", ("H", "W", 3))
    (change,) = order(frames(lambda x: ops.Resize(height=6, width=8)(ops.SwapChannels()(x)), any_size), Deployment())[1]
    assert change.saved is None
    assert change.saved_text == f"about {2 * (1080 * 1920 - 6 * 8) * 3:,} bytes less with H=1080, W=1920"


@pytest.mark.parametrize("color", ["RGB", "BGR"])
@pytest.mark.parametrize("format", [".jpg", ".png", ".webp", ".bmp"])
def test_a_decoder_gives_the_other_order_itself(format: str, color: str) -> None:
    graph = frames(lambda x: ops.SwapChannels()(ops.DecodeImage(color=color)(x)), ops.ENCODED_IMAGE)
    assert ordered(graph) == (["decode_image"], {BITWISE})
    same_answer(graph, {"frame": cv2.imencode(format, scene(40, 50, 1))[1].tobytes()})


@pytest.mark.parametrize("filter", ["opencv_cubic", "opencv_nearest_exact"])
def test_a_cast_stays_in_front_of_a_filter_that_is_no_mean(filter: str) -> None:
    graph = frames(lambda x: ops.Resize(height=22, width=22, filter=filter)(ops.Cast("float32")(x)))
    assert ordered(graph) == (["cast", "resize"], set())


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["opencv_linear", "opencv_area"]),
    SIZES,
    st.integers(0, 1000),
)
def test_a_cast_behind_a_mean_of_bytes_moves_it_less_than_one_step(
    filter: str, sizes: tuple[int, int, int, int], seed: int
) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (*sizes[:2], 3), dtype=np.uint8)
    op = ops.Resize(height=sizes[2], width=sizes[3], filter=filter)
    assert np.abs(op.run(image.astype(np.float32)) - op.run(image)).max() < 1


def test_a_cast_moves_behind_a_crop_and_a_border_that_bytes_can_hold() -> None:
    crop = ops.CenterCrop(height=10, width=90)
    graph = frames(lambda x: crop(ops.Cast("float32")(x)))
    assert ordered(graph) == (["center_crop", "cast"], {BITWISE})
    same_answer(graph, {"frame": noise(60, 80)})
    framed = frames(lambda x: normalize(ops.Pad(top=2, value=114)(ops.Cast("float32")(x))))
    assert ordered(framed) == (["pad", "normalize"], {BITWISE})
    same_answer(framed, {"frame": noise(60, 80)})
    half = frames(lambda x: normalize(ops.Pad(top=2, value=0.5)(ops.Cast("float32")(x))))
    assert ordered(half) == (["cast", "pad", "normalize"], set())


def test_nothing_moves_to_where_there_are_more_pixels() -> None:
    graph = frames(lambda x: ops.Resize(height=600, width=800)(ops.SwapChannels()(x)))
    assert ordered(graph) == (["swap_channels", "resize"], set())


def test_what_others_see_too_stays_where_it_is() -> None:
    pipeline = Pipeline("seen")
    swapped = ops.SwapChannels()(pipeline.input("frame", FRAME))
    pipeline.output(y=ops.Resize(height=8, width=8)(swapped), z=swapped)
    assert ordered(pipeline.validate()) == (["swap_channels", "resize"], set())
    pipeline = Pipeline("read")
    swapped = ops.SwapChannels()(pipeline.input("frame", FRAME))
    pipeline.output(y=ops.Resize(height=8, width=8)(swapped), z=ops.CenterCrop(height=8, width=8)(swapped))
    assert ordered(pipeline.validate())[0][0] == "swap_channels"


def test_an_output_keeps_its_name_and_an_error_the_users_line(tmp_path: Path) -> None:
    pipeline = Pipeline("lines")
    swapped = ops.SwapChannels()(pipeline.input("frame", TensorSpec("uint8", ("H", "W", 3))))
    small = ops.Resize(height=8, width=8)(swapped)
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(normalize(tiny.Same()(small))), small=small)
    plan = pipeline.compile()
    assert [step.name for step in plan.stages[0].steps][:2] == ["resize", "swap_channels"]
    declared = {step.name: step.where for step in pipeline.validate().steps}
    assert {step.name: step.where for step in plan.graph.steps} == declared
    frame = noise(30, 40)
    with plan.session() as session:
        assert session.run(frame=frame)["small"].tobytes() == cv2.resize(frame, (8, 8))[:, :, ::-1].tobytes()


@dataclass(frozen=True)
class OwnSwap(ops.SwapChannels):
    def run(self, image: Array, out: Array | None = None) -> Array:
        return 255 - super().run(image)


@dataclass(frozen=True)
class OwnResize(ops.Resize):
    def run(self, image: Array, out: Array | None = None) -> Array:
        return 255 - super().run(image)


@pytest.mark.parametrize(
    "chain",
    [
        lambda x: ops.Resize(height=30, width=40)(OwnSwap()(x)),
        lambda x: OwnResize(height=30, width=40)(ops.SwapChannels()(x)),
        lambda x: normalize(OwnSwap()(x)),
    ],
)
def test_a_users_op_that_is_derived_from_one_of_these_is_neither_moved_nor_passed(
    chain: Callable[[Edge], Edge],
) -> None:
    graph = frames(chain)
    assert ordered(graph) == ([step.name for step in graph.steps], set())
    same_answer(graph, {"frame": noise(60, 80)})
