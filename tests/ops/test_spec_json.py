from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ops import Counted, Graded, SpecError, TensorSpec
from ops.spec_json import array_from_json, array_to_json, spec_from_json, spec_to_json


def test_every_kind_of_dim_reads_back() -> None:
    spec = TensorSpec("float32", (Counted("boxes", 30), "n", Graded("H", (1, 2)), 4))
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec
    assert spec_to_json(spec)["shape"] == [{"counted": "boxes", "limit": 30}, "n", {"graded": "H", "values": [1, 2]}, 4]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64", ">f4", ">i2"])
def test_an_array_of_any_dtype_reads_back(dtype: str) -> None:
    array = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
    again = array_from_json(json.loads(json.dumps(array_to_json(array))))
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype.newbyteorder("=")


def test_an_array_of_bytes_reads_back() -> None:
    array = np.array([[b"a", b"\xff\x00"], [b"", "猫".encode()]], object)
    again = array_from_json(json.loads(json.dumps(array_to_json(array))))
    assert again.tolist() == array.tolist()


def test_an_array_that_was_read_cannot_be_changed() -> None:
    again = array_from_json(array_to_json(np.zeros(2, np.float32)))
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1


@pytest.mark.parametrize(
    "shape", [[0], [True], [1.5], [None], [{"counted": "n"}], [{"graded": "H", "values": ["a"]}], [{}], [[1]], 5]
)
def test_what_is_no_dim_is_refused(shape: Any) -> None:
    with pytest.raises((SpecError, ValueError, TypeError, KeyError)):
        spec_from_json({"dtype": "float32", "shape": shape})


@pytest.mark.parametrize("data", ["", "AAAA", "AAAAAAAA!", 5, None, ["AAAA"]])
def test_what_is_no_data_is_refused(data: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        array_from_json({"dtype": "float32", "shape": [2], "data": data})
