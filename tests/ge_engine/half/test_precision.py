from __future__ import annotations

import pytest

from ge_engine.half.precision import CUBE, FP16, MEANINGS, ORIGIN, emulates, mode_of


@pytest.mark.parametrize(
    ("older", "newer"),
    [("force_fp16", FP16), ("force_fp32", CUBE), ("must_keep_origin_dtype", ORIGIN), ("allow_fp32_to_fp16", None)],
)
def test_the_older_names_stand_for_the_newer_where_one_is_the_other(older: str, newer: str | None) -> None:
    assert mode_of(older) == newer


@pytest.mark.parametrize("precision", ["mixed_float16", "mixed_bfloat16", "mixed_hif8", "cube_hif8"])
def test_what_hangs_on_a_table_or_a_format_of_one_soc_is_not_emulated(precision: str) -> None:
    assert not emulates(precision)
    assert precision in MEANINGS
