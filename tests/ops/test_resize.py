import re
import time

import cv2
import numpy as np
import pytest
from expecting import Expect
from hypothesis import given, settings
from hypothesis import strategies as st
from photos import gradient, noise, photos
from PIL import Image

from ops.errors import SpecError
from ops.resize import Resize
from ops.spec import Array, TensorSpec

PILLOW = {"pillow_bilinear": Image.Resampling.BILINEAR, "pillow_bicubic": Image.Resampling.BICUBIC}
OPENCV = {
    "opencv_linear": cv2.INTER_LINEAR,
    "opencv_area": cv2.INTER_AREA,
    "opencv_cubic": cv2.INTER_CUBIC,
    "opencv_nearest_exact": cv2.INTER_NEAREST_EXACT,
}
SIZES = [  # from height, width to height, width
    (108, 192, 22, 22),
    (22, 22, 108, 192),
    (97, 131, 45, 61),
    (97, 131, 97, 61),
    (97, 131, 211, 131),
    (40, 60, 40, 60),
    (33, 47, 99, 13),
    (1, 1, 7, 9),
    (1, 50, 3, 20),
    (50, 1, 20, 3),
    (61, 83, 1, 1),
    (61, 83, 1, 40),
    (61, 83, 40, 1),
    (3, 700, 2, 699),
    (700, 3, 699, 2),
]


def reference(image: Array, height: int, width: int, filter: str) -> Array:
    flat = image[:, :, 0] if image.shape[2] == 1 else image
    if filter in PILLOW:
        made = np.asarray(Image.fromarray(flat).resize((width, height), PILLOW[filter]))
    else:
        made = cv2.resize(flat, (width, height), interpolation=OPENCV[filter])
    return made.reshape(height, width, image.shape[2])


@pytest.mark.parametrize("filter", [*PILLOW, *OPENCV])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_filter_has_the_bytes_of_its_namesake(expect: Expect, filter: str, channels: int) -> None:
    for h, w, height, width in SIZES:
        for image in (noise(h, w, channels), gradient(h, w, channels), noise(h, w, channels) // 128 * 255):
            op = Resize(height=height, width=width, filter=filter)
            expect(op, image, want=reference(image, height, width, filter))


@pytest.mark.parametrize("filter", [*PILLOW, *OPENCV])
def test_photos_have_the_bytes_of_the_namesake_up_and_down(filter: str) -> None:
    for image in photos().values():
        for height, width in ((224, 224), (137, 301), (601, 777)):
            made = Resize(height=height, width=width, filter=filter).run(image)
            np.testing.assert_array_equal(made, reference(image, height, width, filter))


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(*[st.integers(1, 150)] * 4),
    st.sampled_from([1, 3]),
    st.sampled_from([*PILLOW, *OPENCV]),
    st.integers(0, 1000),
)
def test_any_size_has_the_bytes_of_the_namesake(sizes: tuple[int, ...], channels: int, filter: str, seed: int) -> None:
    h, w, height, width = sizes
    image = noise(h, w, channels, seed)
    made = Resize(height=height, width=width, filter=filter).run(image)
    np.testing.assert_array_equal(made, reference(image, height, width, filter))


@pytest.mark.parametrize("filter", PILLOW)
def test_full_hd_has_the_bytes_of_pillow_down_and_up(filter: str) -> None:
    for h, w, height, width in ((1080, 1920, 224, 224), (224, 224, 1080, 1920)):
        image = noise(h, w)
        made = Resize(height=height, width=width, filter=filter).run(image)
        np.testing.assert_array_equal(made, reference(image, height, width, filter))


@pytest.mark.parametrize("filter", PILLOW)
def test_a_very_tall_image_that_gets_shorter_is_resized_along_its_rows_first_as_pillow_does(filter: str) -> None:
    for h, w, height, width in ((786, 5, 74, 163), (501, 5, 400, 9), (500, 5, 400, 9), (501, 5, 502, 9)):
        image = noise(h, w)
        made = Resize(height=height, width=width, filter=filter).run(image)
        np.testing.assert_array_equal(made, reference(image, height, width, filter))


@pytest.mark.parametrize("size", [(224, 224), (225, 1), (1, 9)])
def test_a_pillow_filter_computes_on_the_calling_thread_alone(size: tuple[int, int]) -> None:
    image, op = noise(1080, 1920), Resize(height=size[0], width=size[1], filter="pillow_bicubic")
    op.run(image)
    process, thread = time.process_time(), time.thread_time()
    for _ in range(4):
        op.run(image)
    process, thread = time.process_time() - process, time.thread_time() - thread
    assert process < thread * 1.2 + 0.005


@pytest.mark.parametrize("filter", [*PILLOW, *OPENCV])
def test_out_may_be_a_part_of_a_larger_image(filter: str) -> None:
    image, frame = noise(40, 50), np.full((30, 30, 3), 7, np.uint8)
    made = Resize(height=20, width=10, filter=filter).run(image, out=frame[5:25, 5:15])
    assert np.shares_memory(made, frame)
    np.testing.assert_array_equal(frame[5:25, 5:15], reference(image, 20, 10, filter))
    frame[5:25, 5:15] = 7
    assert (frame == 7).all()


def test_the_input_may_be_a_view() -> None:
    image = noise(60, 80)
    for view in (image[10:50, 20:60], image[:, :, ::-1], image[::2, ::3]):
        for filter in (*PILLOW, *OPENCV):
            made = Resize(height=15, width=25, filter=filter).run(view)
            np.testing.assert_array_equal(made, reference(view.copy(), 15, 25, filter))


@pytest.mark.parametrize(
    ("side", "size"),
    [  # torchvision: the longer side is int(shorter * long / short)
        ((480, 640), (224, 298)),
        ((640, 480), (298, 224)),
        ((333, 500), (224, 336)),
        ((100, 100), (224, 224)),
        ((1, 300), (2, 600)),
    ],
)
def test_shorter_keeps_the_aspect_and_rounds_the_longer_side_down(
    expect: Expect, side: tuple[int, int], size: tuple[int, int]
) -> None:
    image = noise(*side)
    op = Resize(shorter=min(size), filter="pillow_bicubic")
    expect(op, image, want=reference(image, *size, "pillow_bicubic"))


def test_shorter_of_an_image_of_any_size_has_named_sides() -> None:
    for shape in (("H", "W", 3), (480, "W", 3)):
        spec = Resize(shorter=224).infer(TensorSpec("uint8", shape))
        assert str(spec) == "uint8[resized_height,resized_width,3]"


@pytest.mark.parametrize(
    ("op", "message", "fix"),
    [
        (Resize(), "height is None, width is None, shorter is None", "or shorter alone"),
        (Resize(height=224), "height is 224, width is None", "or shorter alone"),
        (Resize(height=224, width=224, shorter=224), "shorter is 224", "or shorter alone"),
        (Resize(height=0, width=224), "height is 0", "height a whole number of at least 1"),
        (Resize(height=224, width=-1), "width is -1", "width a whole number of at least 1"),
        (Resize(height=224, width=2.5), "width is 2.5", "whole number"),  # type: ignore[arg-type]
        (Resize(shorter=True), "shorter is True", "whole number"),
        (Resize(height=2, width=2, filter="bilinear"), "filter 'bilinear' is not known", "opencv_linear.*bilinear"),
    ],
)
def test_wrong_attributes_are_refused_with_a_fix(op: Resize, message: str, fix: str) -> None:
    with pytest.raises(SpecError, match=message) as error:
        op.infer(TensorSpec("uint8", ("H", "W", 3)))
    assert re.search(fix, error.value.fix)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (TensorSpec("float64", (4, 4, 3)), "dtype is float64, wanted uint8 or float32"),
        (TensorSpec("uint8", (4, 4)), "rank is 2, wanted 3"),
        (TensorSpec("uint8", (3, 4, 4)), "image has 4 channels, wanted 1 or 3"),
        (TensorSpec("uint8", (4, 4, "C")), "image has C channels, wanted 1 or 3"),
    ],
)
def test_what_is_no_image_is_refused(spec: TensorSpec, message: str) -> None:
    with pytest.raises(SpecError, match=message) as error:
        Resize(height=2, width=2).infer(spec)
    assert error.value.input == "image"


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("filter", OPENCV)
def test_an_opencv_filter_takes_float32_too(expect: Expect, filter: str, channels: int) -> None:
    image = noise(31, 47, channels).astype(np.float32)
    expect(Resize(height=20, width=23, filter=filter), image, want=reference(image, 20, 23, filter))


def test_a_pillow_filter_of_float32_is_refused() -> None:
    with pytest.raises(SpecError, match=r"float32\[4,4,3\]: dtype is float32, wanted uint8"):
        Resize(height=2, width=2, filter="pillow_bicubic").infer(TensorSpec("float32", (4, 4, 3)))
