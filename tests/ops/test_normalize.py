from typing import Any

import numpy as np
import pytest
from expecting import Expect

from ops import Normalize, SpecError, TensorSpec


def test_a_mean_of_pixels_from_0_to_255_is_refused_with_what_to_write() -> None:
    with pytest.raises(SpecError, match=r"mean is \(123\.675, .*the mean of one is 1 at most") as caught:
        Normalize(mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)).infer(TensorSpec("uint8", (2, 2, 3)))
    assert caught.value.fix == "give both in 0-1 units: mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)"


def test_normalize_matches_the_float64_formula_and_its_onnx_form(expect: Expect) -> None:
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    mean, std = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    want = ((image / 255 - mean) / std).transpose(2, 0, 1).astype(np.float32)
    expect(Normalize(mean=mean, std=std), image, want=want, rtol=1e-6, atol=1e-6)


def test_normalize_of_0_1_is_a_scale_only(expect: Expect) -> None:
    image = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    expect(Normalize(mean=(0,), std=(1,)), image, want=(image / 255).transpose(2, 0, 1).astype(np.float32), rtol=1e-6)


def test_channel_count_against_mean_is_refused_with_both_values() -> None:
    with pytest.raises(SpecError, match=r"uint8\[4,4,3\]: image has 3 channels but mean has 1 value") as error:
        Normalize(mean=(0,), std=(1, 1, 1)).infer(TensorSpec("uint8", (4, 4, 3)))
    assert "one mean and one std per channel" in error.value.fix


def test_a_std_of_0_is_refused() -> None:
    with pytest.raises(SpecError, match="holds a 0"):
        Normalize(mean=(0,), std=(0,)).infer(TensorSpec("uint8", (4, 4, 1)))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "a", True, 1e308, 1e-320])
def test_a_mean_or_std_that_no_pixel_can_be_scaled_by_is_refused(value: Any) -> None:
    image = TensorSpec("uint8", (4, 4, 1))
    with pytest.raises(SpecError, match="not numbers that pixels can be scaled by"):
        Normalize(mean=(0,), std=(value,)).infer(image)
    if value != 1e-320:  # a mean as small as that is 0
        with pytest.raises(SpecError, match="not numbers that pixels can be scaled by"):
            Normalize(mean=(value,), std=(1,)).infer(image)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("swap", [False, True])
def test_float32_pixels_and_any_number_of_channels_give_the_same(expect: Expect, channels: int, swap: bool) -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    op = Normalize(mean=(0.1, 0.2, 0.3, 0.4)[:channels], std=(0.5, 0.6, 0.7, 0.8)[:channels], swap=swap)
    pixels = image[:, :, ::-1] if swap else image
    want = ((pixels / 255 - op.mean) / op.std).transpose(2, 0, 1).astype(np.float32)
    made = expect(op, image, want=want, rtol=1e-6, atol=1e-6)
    assert expect(op, image.astype(np.float32)).tobytes() == made.tobytes()


def test_a_view_is_normalized_like_its_copy() -> None:
    image = np.random.default_rng(0).integers(0, 256, (9, 9, 3), dtype=np.uint8)
    op = Normalize(mean=(0.1,) * 3, std=(0.5,) * 3)
    assert op.run(image[1:7:2, 2:8]).tobytes() == op.run(image[1:7:2, 2:8].copy()).tobytes()


def test_swap_is_a_flag() -> None:
    with pytest.raises(SpecError, match="swap is 1"):
        Normalize(mean=(0,), std=(1,), swap=1).infer(TensorSpec("uint8", (4, 4, 1)))  # type: ignore[arg-type]
