from __future__ import annotations

import pytest

from ge_engine.opset import stage_opset


@pytest.mark.parametrize(
    ("opsets", "with_ops", "opset"),
    [((17,), True, 17), ((9,), False, 9), ((9,), True, 13), ((9, 16), True, 16), ((21,), False, 18), ((), True, 17)],
)
def test_a_stage_has_its_models_opset_within_what_ops_and_compilers_take(
    opsets: tuple[int, ...], with_ops: bool, opset: int
) -> None:
    assert stage_opset(opsets, with_ops) == opset
