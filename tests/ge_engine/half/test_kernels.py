from __future__ import annotations

import onnx
import pytest
from onnx import helper

from ge_engine.half.kernels import Kind, data_inputs, kind_of


@pytest.mark.parametrize(
    ("op_type", "kind"),
    [
        ("Conv", Kind.CUBE), ("Gemm", Kind.CUBE), ("Softmax", Kind.VECTOR), ("ReduceMean", Kind.VECTOR),
        ("Transpose", Kind.MOVES), ("MaxPool", Kind.MOVES), ("Cast", Kind.WIDE), ("NonMaxSuppression", Kind.WIDE),
    ],
)  # fmt: skip
def test_every_operator_is_of_a_kind(op_type: str, kind: Kind) -> None:
    assert kind_of(helper.make_node(op_type, ["x"], ["y"])) is kind


def test_an_operator_that_is_not_onnxs_own_is_left_alone() -> None:
    assert kind_of(helper.make_node("Conv", ["x"], ["y"], domain="npu")) is Kind.WIDE


def test_every_operator_with_a_kind_is_one_of_onnx() -> None:
    from ge_engine.half import kernels

    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert known >= kernels._CUBE | kernels._MOVES | kernels._WIDE | kernels._DATA.keys()


def test_the_scales_of_a_resize_are_no_data() -> None:
    assert data_inputs(helper.make_node("Resize", ["x", "", "scales"], ["y"])) == ["x"]
    assert data_inputs(helper.make_node("Add", ["a", "b"], ["y"])) == ["a", "b"]
