from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_engine.npu_ge.expression import Expression, clash
from ops import SpecError

SIZES = {"height": 7, "width": 3, "seq_len": 52}
TRUNCATED: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: math.trunc(Fraction(a, b)),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("height", 7),
        ("16", 16),
        ("height+2*width", 13),
        ("(height+2)*width", 27),
        ("height-width-1", 3),
        ("100/height/2", 7),
        ("100/(height/2)", 33),
        (" ( height + 2 ) / 4 * width ", 6),
        ("(width-height)/3", -1),
        ("seq_len*2", 104),
    ],
)
def test_an_expression_has_the_value_that_the_grammar_gives(text: str, value: int) -> None:
    assert Expression(text).value(SIZES) == value


@st.composite
def written(draw: Any, depth: int = 4) -> tuple[str, int | None]:
    """An expression as text, and its value by exact fractions; None where it divides by zero."""
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.one_of(st.sampled_from(sorted(SIZES)), st.integers(0, 99).map(str)))
        return leaf, SIZES[leaf] if leaf in SIZES else int(leaf)
    sign = draw(st.sampled_from("+-*/"))
    (left, a), (right, b) = draw(written(depth - 1)), draw(written(depth - 1))
    blank = draw(st.sampled_from(["", " "]))
    value = None if a is None or b is None or (sign == "/" and b == 0) else TRUNCATED[sign](a, b)
    return f"({left}){blank}{sign}{blank}({right})", value


@given(written())
def test_any_expression_agrees_with_exact_fractions(case: tuple[str, int | None]) -> None:
    text, value = case
    if value is None:
        with pytest.raises(SpecError, match="Division by zero"):
            Expression(text).value(SIZES)
    else:
        assert Expression(text).value(SIZES) == value


@given(st.lists(st.tuples(st.sampled_from("+-*"), st.integers(0, 50)), max_size=8), st.integers(0, 50))
def test_precedence_without_parentheses_is_that_of_arithmetic(rest: list[tuple[str, int]], first: int) -> None:
    text = str(first) + "".join(f"{sign}{number}" for sign, number in rest)
    terms = re.findall(r"([+-]?)(\d+(?:\*\d+)*)", text)
    expected = sum((-1 if sign == "-" else 1) * math.prod(map(int, term.split("*"))) for sign, term in terms)
    assert Expression(text).value({}) == expected


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        expression = Expression(text)
    except SpecError:
        return
    assert re.fullmatch(r"[A-Za-z0-9_+\-*/()\s]+", text)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in expression.names)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it ends too early"),
        ("floor(height/16 + 1)", "'\\(' has no place"),
        ("s0//2", "a number or a name is missing before '/'"),
        ("-height", "a number or a name is missing before '-'"),
        ("height.2", r"'\.' has no meaning"),
        ("2height", "'height' has no place"),
        ("(height", r"a \) is missing"),
        ("height)", r"'\)' has no place"),
        ("height%2", "'%' has no meaning"),
        ("height,2", "',' has no meaning"),
        ("高", "'高' has no meaning"),
        ("(" * 99 + "1" + ")" * 99, "more than 50 parentheses"),
    ],
)
def test_what_npu_ge_would_misread_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        Expression(text)


def test_a_very_long_name_is_refused() -> None:
    with pytest.raises(SpecError, match="a dim's name of 1001 characters"):
        Expression("a" * 1001)


def test_the_names_and_divisors_are_told() -> None:
    expression = Expression("height/16*(width/seq_len)")
    assert expression.names == {"height", "width", "seq_len"}
    assert expression.divisors == (16, "seq_len")


def test_a_name_inside_another_at_an_underscore_is_a_clash() -> None:
    names = frozenset({"seq", "seq_len", "len", "sequence"})
    assert clash("seq_len", names) == "len"
    assert clash("sequence", names) is None
    assert clash("seq_len", frozenset({"se", "seq_len", "q_len"})) is None
