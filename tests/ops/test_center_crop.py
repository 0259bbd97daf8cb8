import numpy as np
import pytest
from expecting import Expect
from hypothesis import given, settings
from hypothesis import strategies as st
from photos import noise

from ops.center_crop import CenterCrop
from ops.errors import SpecError
from ops.spec import Array, Graded, TensorSpec


def torchvision(image: Array, crop_height: int, crop_width: int) -> Array:
    """torchvision's center_crop, its two steps written out: pad what is too small, then crop."""
    height, width = image.shape[:2]
    lack_y, lack_x = max(crop_height - height, 0), max(crop_width - width, 0)
    image = np.pad(image, ((lack_y // 2, (lack_y + 1) // 2), (lack_x // 2, (lack_x + 1) // 2), (0, 0)))
    height, width = image.shape[:2]
    top, left = round((height - crop_height) / 2.0), round((width - crop_width) / 2.0)
    return image[top : top + crop_height, left : left + crop_width]


@pytest.mark.parametrize("size", [(4, 4), (3, 5), (1, 1), (7, 9), (8, 10), (9, 2), (2, 12), (12, 13), (20, 30)])
def test_it_crops_and_pads_as_torchvision_and_so_does_its_onnx_form(expect: Expect, size: tuple[int, int]) -> None:
    for image in (noise(7, 9), noise(8, 10, 1), noise(7, 10).astype(np.float32) / 255):
        expect(CenterCrop(height=size[0], width=size[1]), image, want=torchvision(image, *size))


@settings(max_examples=200, deadline=None)
@given(st.tuples(*[st.integers(1, 40)] * 4))
def test_any_size_is_cropped_and_padded_as_torchvision(sizes: tuple[int, ...]) -> None:
    height, width, crop_height, crop_width = sizes
    image = noise(height, width)
    made = CenterCrop(height=crop_height, width=crop_width).run(image)
    np.testing.assert_array_equal(made, torchvision(image, crop_height, crop_width))


def test_an_odd_remainder_is_halved_to_the_even_number() -> None:
    # torchvision: round(0.5), round(1.5), round(2.5) are 0, 2, 2
    column = np.arange(9, dtype=np.uint8).reshape(9, 1, 1)
    assert [CenterCrop(height=size, width=1).run(column)[0, 0, 0] for size in (8, 6, 4)] == [0, 2, 2]


def test_a_row_that_held_another_image_keeps_nothing_of_it() -> None:
    row = np.full((6, 6, 3), 99, np.uint8)
    for image in (noise(6, 6), noise(2, 3), noise(9, 1)):
        op = CenterCrop(height=6, width=6)
        np.testing.assert_array_equal(op.run(image, out=row), op.run(image))


def test_the_output_owns_its_memory() -> None:
    image = noise(6, 6)
    assert not np.shares_memory(CenterCrop(height=6, width=6).run(image), image)


def test_the_input_may_have_names_for_sides() -> None:
    spec = CenterCrop(height=2, width=3).infer(TensorSpec("float32", ("H", "W", "C")))
    assert str(spec) == "float32[2,3,C]"


def test_wrong_sizes_are_refused() -> None:
    image = TensorSpec("uint8", (4, 4, 3))
    with pytest.raises(SpecError, match="height is 0"):
        CenterCrop(height=0, width=3).infer(image)
    with pytest.raises(SpecError, match="width is '3'") as error:
        CenterCrop(height=3, width="3").infer(image)  # type: ignore[arg-type]
    assert "a whole number of at least 1" in error.value.fix


def test_an_image_of_several_size_gears_is_refused_with_its_sizes() -> None:
    image = TensorSpec("uint8", (Graded("H", (640, 640)), Graded("W", (640, 480)), 3))
    with pytest.raises(SpecError, match=r"H of \(640, 640\) and W of \(640, 480\): a crop has one size") as error:
        CenterCrop(height=2, width=2).infer(image)
    assert "crop before" in error.value.fix


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(SpecError, match="dtype is int32, wanted uint8 or float32"):
        CenterCrop(height=2, width=2).infer(TensorSpec("int32", (4, 4, 3)))
    with pytest.raises(SpecError, match="rank is 2, wanted 3"):
        CenterCrop(height=2, width=2).infer(TensorSpec("uint8", (4, 4)))
