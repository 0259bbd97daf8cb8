from __future__ import annotations

import numpy as np
import pytest

from ops import Array, DeviceError, ModelError
from pipeline.convert.comparison import compared

A = np.float32([[1, 2, 4]])


def test_rows_tell_the_largest_difference_and_its_share_of_the_largest_value() -> None:
    (row,) = compared("random 1", {"y": A}, {"y": A + np.float32([[0, 0.5, 0]])}, tolerance=0.1)
    assert (row.sample, row.output, row.shape) == ("random 1", "y", (1, 3))
    assert (row.absolute, row.relative, row.ok) == (0.5, 0.125, False)
    (row,) = compared("random 1", {"y": A}, {"y": A}, tolerance=0.0)
    assert (row.absolute, row.relative, row.ok) == (0.0, 0.0, True)


def test_outputs_go_by_name_or_else_by_place() -> None:
    by_name = compared("s", {"a": A, "b": A + 1, "c": A}, {"b": A + 1, "a": A}, 0.0)
    assert [(row.output, row.ok) for row in by_name] == [("b", True), ("a", True)]
    by_place = compared("s", {"a": A, "b": A + 1}, {"y": A, "z": A + 1}, 0.0)
    assert [(row.output, row.ok) for row in by_place] == [("y", True), ("z", True)]
    with pytest.raises(ModelError, match="the source gives a, and what was made of it y, z"):
        compared("s", {"a": A}, {"y": A, "z": A}, 0.0)


def test_no_answer_is_never_right() -> None:
    (row,) = compared("s", {"y": A}, DeviceError("it cannot"), tolerance=1e9)
    assert (row.output, row.shape, row.ok) == ("y", None, False)


@pytest.mark.parametrize("other", [A[:, :2], np.float32([[1, np.nan, 4]]), np.float32([[1, np.inf, 4]])])
def test_another_shape_and_what_is_no_number_are_never_alike(other: Array) -> None:
    (row,) = compared("s", {"y": A}, {"y": other}, tolerance=1e9)
    assert not row.ok
