from __future__ import annotations

import pytest

from pipeline.draw.words import cut, width


@pytest.mark.parametrize("mono", [False, True])
def test_a_chinese_letter_is_about_as_wide_as_it_is_high(mono: bool) -> None:
    assert 10 <= width("中", 10, mono=mono) <= 11


def test_a_combining_accent_takes_no_room() -> None:
    assert width("e\u0301", 10) == width("e", 10)


def test_bold_is_wider_but_not_in_a_font_of_one_width() -> None:
    assert width("abc", 10, bold=True) > width("abc", 10)
    assert width("abc", 10, bold=True, mono=True) == width("abc", 10, mono=True)


def test_what_is_cut_is_as_long_as_it_may_be_and_keeps_both_ends() -> None:
    assert cut("x" * 9, 9) == "x" * 9
    assert len(cut("abcdefghij", 7)) == 7
    assert cut("abcdefghij", 7) == "abc…hij"
