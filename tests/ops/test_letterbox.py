from fractions import Fraction

import cv2
import numpy as np
import pytest
from expecting import Expect
from hypothesis import given, settings
from hypothesis import strategies as st
from photos import gradient, noise, photos

from ops.errors import SpecError
from ops.letterbox import Fit, Letterbox, best_size, unletterbox
from ops.spec import Array, Graded, TensorSpec

SIDE = st.integers(1, 5000)
FRAME = st.one_of(st.sampled_from([32, 224, 640, 1280]), st.integers(1, 1280))


def ultralytics(image: Array, height: int, width: int) -> tuple[Array, Array]:
    """Ultralytics 8.4 LetterBox by its defaults, and the transform that follows from it."""
    h, w = image.shape[:2]
    r = min(height / h, width / w)
    new_w, new_h = max(round(w * r), 1), max(round(h * r), 1)
    dw, dh = (width - new_w) / 2, (height - new_h) / 2
    top, bottom, left, right = round(dh - 0.1), round(dh + 0.1), round(dw - 0.1), round(dw + 0.1)
    resized = cv2.resize(image, (new_w, new_h), interpolation=cv2.INTER_LINEAR) if (h, w) != (new_h, new_w) else image
    border = (top, bottom, left, right)
    framed = cv2.copyMakeBorder(resized, *border, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    return framed.reshape(height, width, -1), np.array([h, w, new_h, new_w, top, left], np.float32)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "size", [(64, 64), (40, 60), (61, 17), (1, 1), (64, 1), (1, 64)], ids=lambda size: f"{size[0]}x{size[1]}"
)
def test_image_and_transform_are_those_of_ultralytics(expect: Expect, size: tuple[int, int], channels: int) -> None:
    op = Letterbox(height=size[0], width=size[1])
    for source in ((64, 64), (33, 77), (77, 33), (128, 20), (1, 1), (1, 90), (90, 1), (7, 5)):
        for image in (noise(*source, channels), gradient(*source, channels)):
            expect(op, image, want=ultralytics(image, *size))


def test_photos_are_those_of_ultralytics() -> None:
    for image in photos().values():
        for size in ((640, 640), (320, 481)):
            for made, want in zip(Letterbox(height=size[0], width=size[1]).run(image), ultralytics(image, *size)):
                np.testing.assert_array_equal(made, want)


def test_a_side_that_would_round_to_0_is_1_pixel() -> None:
    framed, transform = Letterbox(height=1, width=1).run(noise(100, 3))
    assert framed.shape == (1, 1, 3)
    assert transform.tolist() == [100, 3, 1, 1, 0, 0]
    framed, transform = Letterbox(height=640, width=640).run(np.zeros((1, 10000, 3), np.uint8))
    assert transform.tolist() == [1, 10000, 1, 640, 319, 0]
    assert np.flatnonzero((framed != 114).any(axis=(1, 2))).tolist() == [319]  # and so 320 rows below


@given(SIDE, SIDE, FRAME, FRAME)
def test_the_image_lies_inside_its_frame_and_touches_it(h: int, w: int, height: int, width: int) -> None:
    fit = Fit.of(h, w, height, width)
    assert 1 <= fit.height <= height
    assert 1 <= fit.width <= width
    assert fit.height == height or fit.width == width
    for border, room in ((fit.top, height - fit.height), (fit.left, width - fit.width)):
        assert border == room // 2


def forward(edge: float, source: int, resized: int, before: int) -> float:
    """An edge of a box by the resize's own pixel centres: pixel i has its centre at i + 0.5, its edges at i, i + 1."""
    index = edge - 0.5
    resized_index = (index + 0.5) * resized / source - 0.5  # OpenCV's INTER_LINEAR
    return resized_index + 0.5 + before


@settings(max_examples=500, deadline=None)
@given(SIDE, SIDE, FRAME, FRAME, st.tuples(*[st.floats(0, 1)] * 4))
def test_every_box_comes_back_within_half_a_source_pixel(
    h: int, w: int, height: int, width: int, shares: tuple[float, float, float, float]
) -> None:
    fit = Fit.of(h, w, height, width)
    box = np.array(shares) * (w, h, w, h)
    sides = ((w, fit.width, fit.left), (h, fit.height, fit.top)) * 2
    framed = np.array([[forward(edge, *side) for edge, side in zip(box, sides)]], np.float32)
    back = unletterbox(framed, np.array((h, w, *fit), np.float32))
    assert back.dtype == np.float32
    assert back.shape == (1, 4)
    assert np.abs(back[0] - box).max() <= 0.5


@pytest.mark.parametrize(("source", "resized"), [(50, 17), (17, 50), (100, 99), (9, 640)])
def test_the_resize_has_the_pixel_centres_that_the_inverse_assumes(source: int, resized: int) -> None:
    ramp = np.arange(source, dtype=np.float32).reshape(1, -1)  # each pixel holds its own index
    shown = cv2.resize(ramp, (resized, 1), interpolation=cv2.INTER_LINEAR)[0]
    centres = [forward(edge, resized, source, 0) - 0.5 for edge in np.arange(resized) + 0.5]
    np.testing.assert_allclose(shown, np.clip(centres, 0, source - 1), atol=2e-3 * source / 100)


def test_each_framed_pixel_shows_the_place_that_unletterbox_names() -> None:
    ramp = np.broadcast_to(np.arange(240, dtype=np.uint8)[None, :, None], (90, 240, 1))
    framed, transform = Letterbox(height=100, width=71).run(ramp)
    top, left = (int(value) for value in transform[4:])
    width = int(transform[3])
    centres = left + np.arange(width, dtype=np.float32) + 0.5
    boxes = np.stack([centres, centres, centres, centres], axis=1)
    index = unletterbox(boxes, transform)[:, 0] - 0.5
    assert np.abs(framed[top, left : left + width, 0] - index).max() <= 0.5 + 0.25  # a level; cv2's 8-bit arithmetic


def test_boxes_may_reach_outside_and_have_any_leading_axes() -> None:
    transform = np.array([1080, 810, 640, 480, 0, 80], np.float32)
    boxes = np.array([[[79, -1, 561, 641]]], np.float32)
    np.testing.assert_allclose(unletterbox(boxes, transform), [[[-1.6875, -1.6875, 811.6875, 1081.6875]]])
    assert unletterbox(np.zeros((0, 4), np.float32), transform).shape == (0, 4)


def test_a_row_that_held_another_image_keeps_nothing_of_it() -> None:
    op = Letterbox(height=64, width=64)
    row = {"image": np.empty((64, 64, 3), np.uint8), "transform": np.empty(6, np.float32)}
    pictures = [noise(30, 90), noise(90, 30, seed=1), noise(64, 64, seed=2), noise(1, 500, seed=3)]
    for image in pictures * 2:
        made = op.run(image, out=row)
        assert made[0] is row["image"]
        assert made[1] is row["transform"]
        for got, want in zip(made, op.run(image)):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("given_name", ["image", "transform"])
def test_any_part_of_out_may_be_given(given_name: str) -> None:
    op = Letterbox(height=20, width=30)
    target = np.full((20, 30, 3), 5, np.uint8) if given_name == "image" else np.full(6, 5, np.float32)
    made = op.run(noise(11, 12), out={given_name: target})
    assert made[0 if given_name == "image" else 1] is target
    for got, want in zip(made, op.run(noise(11, 12))):
        np.testing.assert_array_equal(got, want)


def test_sizes_take_the_one_with_the_least_padding() -> None:
    op = Letterbox(sizes=((640, 640), (640, 480), (480, 640)))
    for source, gear in (((100, 100), 0), ((1080, 810), 1), ((810, 1080), 2), ((5000, 10), 1), ((10, 5000), 2)):
        image = np.zeros((*source, 3), np.uint8)
        assert op.gear(image) == gear
        framed, transform = op.run(image)
        assert framed.shape[:2] == ((640, 640), (640, 480), (480, 640))[gear]
        np.testing.assert_array_equal(transform, ultralytics(image, *framed.shape[:2])[1])


def test_of_equally_good_sizes_the_first_is_taken() -> None:
    for source in ((7, 9), (1000, 667), (3, 5000)):
        assert best_size(*source, ((320, 320), (640, 640))) == 0
        assert best_size(*source, ((640, 640), (320, 320))) == 0


@given(SIDE, SIDE, st.lists(st.tuples(FRAME, FRAME), min_size=1, max_size=5))
def test_the_best_size_has_the_smallest_share_of_padding_before_any_rounding(
    h: int, w: int, sizes: list[tuple[int, int]]
) -> None:
    def padding(height: int, width: int) -> Fraction:
        ratio = min(Fraction(height, h), Fraction(width, w))
        return 1 - ratio * h * ratio * w / (height * width)

    shares = [padding(*size) for size in sizes]
    assert best_size(h, w, tuple(sizes)) == shares.index(min(shares))


def test_sizes_give_graded_sides() -> None:
    image, transform = Letterbox(sizes=((640, 640), (640, 480))).infer(TensorSpec("uint8", ("h", "w", 3)))
    assert image.shape == (Graded("H", (640, 640)), Graded("W", (640, 480)), 3)
    assert str(transform) == "float32[6]"


def test_sizes_keep_every_promise_of_an_op(expect: Expect) -> None:
    image = noise(50, 40)
    expect(Letterbox(sizes=((32, 32), (40, 32))), image, want=ultralytics(image, 40, 32))


@pytest.mark.parametrize(
    ("op", "message", "fix"),
    [
        (Letterbox(), "height is None, width is None, sizes is None", "or sizes alone"),
        (Letterbox(height=640), "height is 640, width is None", "or sizes alone"),
        (Letterbox(height=640, width=640, sizes=((1, 1),)), r"sizes is \(\(1, 1\),\)", "or sizes alone"),
        (Letterbox(height=640, width=0), "width is 0", "at least 1"),
        (Letterbox(sizes=()), r"sizes is \(\)", r"pairs of (height, width)"),
        (Letterbox(sizes=(640, 640)), r"sizes is \(640, 640\)", "pairs of (height, width)"),  # type: ignore[arg-type]
        (Letterbox(sizes=((640, 0),)), "width is 0", "at least 1"),
        (Letterbox(sizes=((640, 640), (640, 640))), "one size twice", "once"),
        (Letterbox(height=640, width=640, fill=300), "fill is 300", "from 0 to 255"),
    ],
)
def test_wrong_attributes_are_refused_with_a_fix(op: Letterbox, message: str, fix: str) -> None:
    with pytest.raises(SpecError, match=message) as error:
        op.infer(TensorSpec("uint8", ("H", "W", 3)))
    assert fix in error.value.fix


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(SpecError, match="image has 4 channels, wanted 1 or 3"):
        Letterbox(height=64, width=64).infer(TensorSpec("uint8", (9, 9, 4)))
