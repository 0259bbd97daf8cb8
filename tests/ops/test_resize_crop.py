from __future__ import annotations

import numpy as np
import pytest
from expecting import Expect
from hypothesis import given, settings
from hypothesis import strategies as st
from photos import noise
from PIL import Image

from ops import CenterCrop, Resize, ResizeCrop, SpecError, TensorSpec

PILLOW = {"pillow_bilinear": Image.Resampling.BILINEAR, "pillow_bicubic": Image.Resampling.BICUBIC}
SIDE = st.integers(1, 60)


@pytest.mark.parametrize("filter", PILLOW)
def test_the_bytes_are_pillows_own_cut_out(expect: Expect, filter: str) -> None:
    image = noise(97, 131)
    whole = np.asarray(Image.fromarray(image).resize((64, 48), PILLOW[filter]))
    op = ResizeCrop(crop_height=32, crop_width=32, height=48, width=64, filter=filter)
    expect(op, image, want=whole[8:40, 16:48])


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*PILLOW, "opencv_area"]),
    st.tuples(SIDE, SIDE),
    st.one_of(SIDE, st.tuples(SIDE, SIDE)),
    st.tuples(SIDE, SIDE),
    st.sampled_from([1, 3]),
)
def test_any_resize_and_crop_in_one_is_the_one_after_the_other(
    filter: str, image: tuple[int, int], size: int | tuple[int, int], crop: tuple[int, int], channels: int
) -> None:
    pixels = noise(*image, channels)
    height, width, shorter = (None, None, size) if isinstance(size, int) else (*size, None)
    resize = Resize(height, width, filter, shorter)
    if min(resize.size(*image)) > 0:
        want = CenterCrop(*crop).run(resize.run(pixels))
        got = ResizeCrop(*crop, height, width, filter, shorter).run(pixels)
        assert (got.shape, got.tobytes()) == (want.shape, want.tobytes())


def test_a_very_tall_image_is_cut_too() -> None:
    image = noise(700, 3)
    whole = np.asarray(Image.fromarray(image).resize((6, 50), Image.Resampling.BICUBIC))
    op = ResizeCrop(crop_height=10, crop_width=4, height=50, width=6, filter="pillow_bicubic")
    assert op.run(image).tobytes() == whole[20:30, 1:5].tobytes()


def test_what_resize_and_crop_refuse_is_refused() -> None:
    with pytest.raises(SpecError, match="give height and width, or shorter alone"):
        ResizeCrop(crop_height=1, crop_width=1, height=4).infer(TensorSpec("uint8", ("H", "W", 3)))
    with pytest.raises(SpecError, match="height is 0"):
        ResizeCrop(crop_height=0, crop_width=1, shorter=4).infer(TensorSpec("uint8", ("H", "W", 3)))
