from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ops import WrongUse
from pipeline.compare.limits import Limits
from pipeline.compare.measures import Measure, Sums


def equal() -> Measure:
    sums = Sums()
    sums.add(np.float32([1, 2]), np.float32([1, 2]))
    return sums.measure()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, ""),
        ({"broken": 2}, "2 values are not finite alike"),
        ({"cosine": 0.9}, "cosine similarity 0.9000 is below 0.99"),
        ({"distance": 0.2}, "relative Euclidean distance 0.2 is above 0.05"),
    ],
)
def test_a_tensor_departs_for_a_reason(changed: dict[str, float], why: str) -> None:
    assert Limits().broken_by(replace(equal(), **changed)) == why  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"cosine": 1.1}, "the cosine limit is 1.1"), ({"distance": -1}, "the distance limit is -1")],
)
def test_a_limit_that_is_none_is_refused(fields: dict[str, float], message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        Limits(**fields)
