from __future__ import annotations

import pytest
from onnx import TensorProto

from ops import SpecError
from pipeline.triton.schema import enum_name, model_config
from pipeline.triton.tensor import ITEM_BYTES, Tensor, tensor_of, triton_type


def test_every_type_of_a_config_has_a_dtype_and_back() -> None:
    values = model_config("24.10").DESCRIPTOR.fields_by_name["input"].message_type.fields_by_name["data_type"].enum_type
    names = [value.name for value in values.values if value.name != "TYPE_INVALID"]
    assert [triton_type(Tensor("x", name, ()).dtype) for name in names] == names
    assert set(ITEM_BYTES) == set(names) - {"TYPE_STRING"}


def test_a_dtype_is_known_by_its_number_in_an_onnx_file() -> None:
    assert triton_type(TensorProto.BFLOAT16) == "TYPE_BF16"
    with pytest.raises(SpecError, match="0 is not a dtype"):
        triton_type(TensorProto.UNDEFINED)


def test_a_tensor_of_a_config_is_written_as_type_and_dims() -> None:
    item = model_config()().input.add(name="x", data_type="TYPE_FP32", dims=[3, -1], optional=True)
    assert tensor_of(item) == Tensor("x", "TYPE_FP32", (3, -1), optional=True)
    assert str(tensor_of(item)) == "TYPE_FP32[3,-1]"


def test_a_value_that_the_release_does_not_know_is_its_number() -> None:
    item = model_config()().input.add()
    item.MergeFromString(b"\x10\x63")  # field 2, data_type: 99
    assert enum_name(item, "data_type") == "99"
