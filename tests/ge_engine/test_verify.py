from __future__ import annotations

import math

import numpy as np
import pytest

from ge_engine.verify import difference


def f32(*values: float) -> np.ndarray:
    return np.float32(values)


@pytest.mark.parametrize(
    ("wanted", "got", "gap"),
    [
        (f32(1, 2), f32(1, 2), 0.0),
        (f32(1, math.nan), f32(1, math.nan), 0.0),
        (f32(1, 4), f32(1, 3), 0.25),
        (f32(1, 2), f32(1, math.nan), math.inf),
        (f32(1, math.inf), f32(1, 2), math.inf),
        (f32(1, 2), f32(1, 2, 3), math.inf),
    ],
)
def test_difference_is_relative_to_the_largest_value(wanted: np.ndarray, got: np.ndarray, gap: float) -> None:
    assert difference([wanted], [got]) == gap


def test_a_zero_of_another_sign_is_a_difference_but_a_tiny_one() -> None:
    assert 0 < difference([f32(0.0)], [f32(-0.0)]) < 1e-30
