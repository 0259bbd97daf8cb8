from __future__ import annotations

import cv2
import numpy as np
import pytest
from expecting import Expect
from photos import noise

from ops import SpecError, SwapChannels, TensorSpec


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_bytes_are_those_of_cvtcolor(expect: Expect, dtype: type) -> None:
    image = noise(13, 17).astype(dtype)
    expect(SwapChannels(), image, want=cv2.cvtColor(image, cv2.COLOR_BGR2RGB))


def test_the_input_may_be_a_view() -> None:
    image = noise(20, 30)
    assert SwapChannels().run(image[2:11, 3:9]).tolist() == image[2:11, 3:9, ::-1].tolist()


def test_another_number_of_channels_is_refused() -> None:
    with pytest.raises(SpecError, match=r"uint8\[4,4,1\]: image has 1 channels, wanted 3"):
        SwapChannels().infer(TensorSpec("uint8", (4, 4, 1)))
