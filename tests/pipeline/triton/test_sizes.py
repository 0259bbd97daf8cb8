from __future__ import annotations

import pytest

from ge_engine.npu_ge.expression import Expression
from ops import ExportError, Graded
from pipeline.triton.sizes import size_expression

SIZES = [{"H": 640, "W": 640}, {"H": 640, "W": 480}, {"H": 320, "W": 320}]


@pytest.mark.parametrize(
    ("values", "expression"),
    [
        ((409600, 307200, 102400), "H*W"),
        ((8400, 6300, 2100), "H*W*21/1024"),  # the anchors of YOLO: strides 8, 16 and 32
        ((20, 15, 10), "W/32"),
        ((84, 84, 84), "84"),
    ],
)
def test_the_expression_gives_each_size_its_value(values: tuple[int, ...], expression: str) -> None:
    found = size_expression(Graded("n", values), SIZES)
    assert found == expression
    assert [Expression(found).value(size) for size in SIZES] == list(values)


def test_values_that_are_no_product_are_refused_with_both() -> None:
    with pytest.raises(
        ExportError, match=r"n is \[1, 2, 7\] at the sizes .*\(640, 480\).*: no product of H, W gives that"
    ):
        size_expression(Graded("n", (1, 2, 7)), SIZES)
