from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops import (
    ENCODED_IMAGE,
    NMS,
    TEXT,
    CenterCrop,
    Counted,
    DecodeImage,
    Graded,
    Normalize,
    Resize,
    Similarity,
    SpecError,
    TensorSpec,
    Tokenize,
    YoloBoxes,
)


@pytest.mark.parametrize(
    "dim",
    [0, -1, True, 8.0, None, "", b"H", 2**31, 10**30, (1,), Counted("n", 0), Counted("n", True), Counted("", 3),
     Counted("n", "3"), Graded("H", ()), Graded("H", (0,)), Graded("H", (640.0,)), Graded("", (1,))],
)  # fmt: skip
def test_what_can_be_no_dim_is_refused_where_it_is_written(dim: Any) -> None:
    with pytest.raises(SpecError, match=r"float32\[3,.*\]: a dim is ") as error:
        TensorSpec("float32", (3, dim))
    assert error.value.fix == "give sizes from 1 to 2147483647, or a name for what varies"


def test_a_whole_number_of_numpy_is_a_dim_like_any_other() -> None:
    spec = TensorSpec("float32", (2, np.int64(3)))
    assert spec == TensorSpec("float32", (2, 3))
    assert [type(dim) for dim in spec.shape] == [int, int]


@pytest.mark.parametrize("value", ["false", 0, 1, None, [], np.bool_(True)])
def test_an_attribute_that_is_true_or_false_takes_nothing_else(value: Any) -> None:
    boxes, scores, classes = TensorSpec("float32", ("n", 4)), TensorSpec("float32", ("n",)), TensorSpec("int32", ("n",))
    with pytest.raises(SpecError, match="class_agnostic is "):
        NMS(class_agnostic=value).infer(boxes, scores, classes)
    with pytest.raises(SpecError, match="class_agnostic is "):
        YoloBoxes(class_agnostic=value).infer(TensorSpec("float32", (84, 8400)), TensorSpec("float32", (6,)))
    with pytest.raises(SpecError, match="apply_orientation is ") as error:
        DecodeImage(color="RGB", apply_orientation=value).infer(TensorSpec("bytes", ()))
    assert error.value.fix == "give apply_orientation True or False"


@pytest.mark.parametrize("op", [CenterCrop(4, 4), Resize(height=4, width=4), Normalize((0, 0, 0), (1, 1, 1))], ids=str)
def test_a_picture_that_is_not_decoded_is_to_be_decoded(op: Any) -> None:
    with pytest.raises(SpecError, match="bytes: dtype is bytes, wanted uint8") as error:
        op.infer(ENCODED_IMAGE)
    assert error.value.fix == "put an ops.DecodeImage before it"


def test_another_dtype_is_to_be_converted_to_one_that_can_be() -> None:
    vector = TensorSpec("float64", (4,))
    with pytest.raises(SpecError, match="dtype is float64, wanted float32") as error:
        Similarity().infer(vector, vector)
    assert error.value.fix == "convert it to float32, with ops.Cast"
    with pytest.raises(SpecError, match="dtype is bytes, wanted float32") as error:
        Similarity().infer(TEXT, TEXT)
    assert error.value.fix == "convert it to float32"
    with pytest.raises(SpecError, match="dtype is float64, wanted bytes") as error:
        Tokenize("vocab.txt").infer(vector)
    assert error.value.fix == "convert it to bytes"
