from __future__ import annotations

from pathlib import Path

import pytest
from onnx_files import scale_model

from ge_engine.npu_ge.complete import missing, missing_of
from ge_engine.npu_ge.ports import Port, Ports
from ops import SpecError

MODEL = Ports((Port("x", "float32", (-1, 4)),), (Port("y", "int64", (-1, 2)),))
X = {"name": "x", "data_type": "TYPE_FP32", "dims": [4]}
Y = {"name": "y", "data_type": "TYPE_INT64", "dims": [2]}


def test_what_is_not_listed_is_added_without_the_batch() -> None:
    assert missing({"max_batch_size": 8}, MODEL) == ((X,), (Y,))


def test_without_a_batch_size_the_dims_are_whole() -> None:
    added = missing({"max_batch_size": 0}, MODEL)
    assert (added.inputs[0]["dims"], added.outputs[0]["dims"]) == ([-1, 4], [-1, 2])


def test_what_is_listed_stays() -> None:
    assert missing({"max_batch_size": 8, "input": [X]}, MODEL) == ((), (Y,))
    assert missing({"max_batch_size": 8, "input": [X], "output": [Y]}, MODEL) == ((), ())


def test_the_models_file_is_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    scale_model(tmp_path / "1" / "m.onnx")
    (x,) = missing_of({"max_batch_size": 8}, tmp_path).inputs
    assert x == X


@pytest.mark.parametrize("dtype", ["float16", "bool", "uint32", "uint64", "float64", "bytes"])
def test_a_type_that_npu_ge_does_not_read_must_be_listed(dtype: str) -> None:
    with pytest.raises(SpecError, match=rf"x {dtype}\[-1\] has a type that npu_ge does not read from an ONNX"):
        missing({}, Ports((Port("x", dtype, (-1,)),), ()))
