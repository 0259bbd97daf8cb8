from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_engine.dims import clash, legal_names


@pytest.mark.parametrize(
    ("names", "legal"),
    [
        (["batch", "height"], ["batch", "height"]),
        (["seq", "seq_len"], ["seq", "seqlen"]),
        (["seq_len", "len", "seqlen"], ["seqlen2", "len", "seqlen"]),
        (["a_b", "ab_c"], ["a_b", "ab_c"]),
        (["a", "a_b", "ab_c"], ["a", "ab", "abc"]),  # that a_b becomes ab makes one of ab_c, too
        (["input.1_dim_2", "batch size", "2nd"], ["input_1_dim_2", "batch_size", "d2nd"]),
        (["x.1", "x 1", "x_1"], ["x_1", "x_12", "x_13"]),
        (["批", "高", ""], ["dim", "dim2", "dim3"]),
        (["_1", "a", "a_1"], ["_1", "a", "a1"]),
        (["_1", "1"], ["_1", "d1"]),
    ],
)
def test_names_are_kept_or_made_legal(names: list[str], legal: list[str]) -> None:
    assert list(legal_names(names).values()) == legal


@given(st.lists(st.text(alphabet="ab_1. 高", max_size=6), max_size=6))
def test_no_two_names_are_one_and_none_is_found_in_another(names: list[str]) -> None:
    legal = legal_names(names)
    assert list(legal) == list(dict.fromkeys(names))
    assert len(set(legal.values())) == len(legal)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in legal.values())
    assert not [name for name in legal.values() if clash(name, legal.values())]


def test_many_names_inside_one_another_take_no_time() -> None:
    names = ["n", *(f"n_{index}" for index in range(300))]
    legal = legal_names(names)
    assert all(clash(own, legal.values()) is None for own in legal.values())
    assert len({*legal.values()}) == len(names)
