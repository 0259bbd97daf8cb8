import cv2
import numpy as np
import pytest
from expecting import Expect
from photos import noise

from ops.errors import SpecError
from ops.pad import Pad
from ops.spec import Graded, TensorSpec


@pytest.mark.parametrize("sides", [(0, 0, 0, 0), (1, 2, 3, 4), (5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0), (0, 0, 0, 5)])
def test_it_pads_as_opencv_and_onnx(expect: Expect, sides: tuple[int, int, int, int]) -> None:
    top, bottom, left, right = sides
    op = Pad(top=top, bottom=bottom, left=left, right=right, value=114)
    for image in (noise(4, 6), noise(4, 6).astype(np.float32)):
        expect(op, image, want=cv2.copyMakeBorder(image, *sides, cv2.BORDER_CONSTANT, value=(114, 114, 114)))
    image = noise(4, 6, 1)
    expect(op, image, want=cv2.copyMakeBorder(image, *sides, cv2.BORDER_CONSTANT, value=114)[..., None])


def test_a_float_image_takes_any_number(expect: Expect) -> None:
    image = noise(2, 2, 5).astype(np.float32)
    expect(Pad(left=1, value=-0.5), image, want=np.pad(image, ((0, 0), (1, 0), (0, 0)), constant_values=-0.5))


def test_a_row_that_held_another_image_keeps_nothing_of_it() -> None:
    row = noise(9, 9)
    image = noise(4, 5, seed=1)
    op = Pad(top=2, bottom=3, left=1, right=3, value=7)
    np.testing.assert_array_equal(op.run(image, out=row), op.run(image))


def test_the_sides_grow_and_a_name_that_grows_is_another_name() -> None:
    assert str(Pad(top=1, bottom=2).infer(TensorSpec("uint8", ("H", "W", 3)))) == "uint8[padded_height,W,3]"
    image = TensorSpec("uint8", (Graded("H", (640, 320)), Graded("W", (640, 480)), 3))
    spec = Pad(left=3, right=1).infer(image)
    assert spec.shape == (Graded("H", (640, 320)), Graded("padded_width", (644, 484)), 3)


@pytest.mark.parametrize(
    ("op", "dtype", "message", "fix"),
    [
        (Pad(top=-1), "uint8", "top is -1", "at least 0"),
        (Pad(right=1.5), "uint8", "right is 1.5", "at least 0"),  # type: ignore[arg-type]
        (Pad(value=256), "uint8", "value is 256, the pixels are uint8", "from 0 to 255"),
        (Pad(value=0.5), "uint8", "value is 0.5, the pixels are uint8", "from 0 to 255"),
        (Pad(value=float("nan")), "float32", "value is nan", "give a number"),
        (Pad(value="0"), "float32", "value is '0'", "give a number"),  # type: ignore[arg-type]
    ],
)
def test_wrong_attributes_are_refused_with_a_fix(op: Pad, dtype: str, message: str, fix: str) -> None:
    with pytest.raises(SpecError, match=message) as error:
        op.infer(TensorSpec(dtype, (4, 4, 3)))
    assert fix in error.value.fix


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(SpecError, match="dtype is int64, wanted uint8 or float32"):
        Pad().infer(TensorSpec("int64", (4, 4, 3)))
    with pytest.raises(SpecError, match="rank is 4, wanted 3"):
        Pad().infer(TensorSpec("uint8", (1, 4, 4, 3)))
