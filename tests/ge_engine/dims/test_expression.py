from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_engine.dims import Expression, clash
from ops import SpecError

SIZES = {"height": 7, "width": 3, "seq_len": 52}
RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


def by_two_stacks(text: str, sizes: Mapping[str, int]) -> int | None:
    """Dijkstra's shunting yard, divisions by exact fractions cut off; None for a division by zero."""
    values: list[int] = []
    signs: list[str] = []

    def reduce() -> bool:
        sign, right, left = signs.pop(), values.pop(), values.pop()
        if sign == "/" and right == 0:
            return False
        exact = {"+": left + right, "-": left - right, "*": left * right}
        values.append(exact[sign] if sign in exact else math.trunc(Fraction(left, right)))
        return True

    for token in [*re.findall(r"\d+|\w+|[-+*/()]", text), ")"]:
        if token == "(":
            signs.append(token)
        elif token == ")" or token in RANK:
            while signs and signs[-1] != "(" and RANK[signs[-1]] >= RANK.get(token, 0):
                if not reduce():
                    return None
            if token != ")":
                signs.append(token)
            elif signs:
                signs.pop()
        else:
            values.append(sizes[token] if token in sizes else int(token))
    (value,) = values
    return value


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
        ("width/2+height", 8),
        ("seq_len*2", 104),
    ],
)
def test_an_expression_has_the_value_that_the_grammar_gives(text: str, value: int) -> None:
    assert Expression(text).value(SIZES) == value == by_two_stacks(text, SIZES)


@st.composite
def written(draw: Any, depth: int = 4) -> str:
    """Any expression, with parentheses or without."""
    if depth == 0 or draw(st.booleans()):
        return str(draw(st.one_of(st.sampled_from(sorted(SIZES)), st.integers(0, 99).map(str))))
    blank = draw(st.sampled_from(["", " "]))
    text = f"{draw(written(depth - 1))}{blank}{draw(st.sampled_from('+-*/'))}{blank}{draw(written(depth - 1))}"
    return f"({text})" if draw(st.booleans()) else text


@given(written(), st.fixed_dictionaries({name: st.integers(0, 4096) for name in SIZES}))
def test_any_expression_agrees_with_an_independent_evaluator(text: str, sizes: dict[str, int]) -> None:
    value = by_two_stacks(text, sizes)
    assert Expression(text).may_divide_by_zero([sizes]) == (value is None)
    if value is None:
        assert Expression(text).may_divide_by_zero()
        with pytest.raises(SpecError, match="Division by zero"):
            Expression(text).value(sizes)
    else:
        assert Expression(text).value(sizes) == value


def readable(text: str) -> Expression | None:
    try:
        return Expression(text)
    except SpecError:
        return None


@given(st.text(alphabet="abs09_ +-*/().,%", max_size=30) | st.text(max_size=30))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    expression = readable(text)
    if expression is None:
        return
    assert re.fullmatch(r"[A-Za-z0-9_+\-*/() ]+", text)
    assert not re.search(r"\d +[A-Za-z0-9]|[A-Za-z_]\w* +\w|//|\*\*", text)  # npu_ge would join, or misread them
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in expression.names)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it ends too early"),
        ("height+", "it ends too early"),
        ("floor(height/16 + 1)", r"it has no floor\(\)"),
        ("ceil(height/2)", r"it has no ceil\(\)"),
        ("Max(height,2)", r"it has no Max\(\)"),
        ("s0//2", "it has no //"),
        ("s0**2", r"it has no \*\*"),
        ("-height", "it has no sign: a number or a name is missing before '-'"),
        ("2*-height", "it has no sign: a number or a name is missing before '-'"),
        ("0.5*height", "it has whole numbers only, and this is 0.5"),
        ("height.2", r"'\.' has no meaning"),
        ("2height", "'height' has no place"),
        ("2 3", "'3' has no place"),
        ("height width", "'width' has no place"),
        ("height\t+1", r"'\\t' has no meaning"),
        ("(height", r"a \) is missing"),
        ("height)", r"'\)' has no place"),
        ("()", r"a number or a name is missing before '\)'"),
        ("*2", r"a number or a name is missing before '\*'"),
        ("height%2", "it has no %"),
        ("height,2", "',' has no place"),
        ("高", "'高' has no meaning"),
        ("(" * 99 + "1" + ")" * 99, "more than 50 parentheses"),
        ("2" + "**2" * 99, "more than 50 parentheses"),
        ("a" * 1001, "it has 1001 characters"),
    ],
)
def test_what_npu_ge_would_misread_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason) as error:
        Expression(text)
    assert error.value.rule == "V14"
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("text", ["1" + "+1" * 499, "-" * 999 + "1", "1" + "/1" * 499, "(" * 50 + "1" + ")" * 50])
def test_a_long_text_takes_no_deep_stack(text: str) -> None:
    expression = readable(text)
    assert (expression is None) == ("-" in text)
    assert expression is None or expression.value({}) == (500 if "+" in text else 1)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("16/height", True),
        ("16/(height+1)", False),
        ("16/(height-1)", True),
        ("16/(height*width)", True),
        ("16/((height+1)*(width+2))", False),
        ("16/(4-4)", True),
        ("16/(4-3)", False),
        ("height/16*(width/16)", False),
        ("16/(height/2)", True),
        ("16/(8/(height+1))", True),  # 8/9 is 0
        ("16/(9/(height-height+2))", True),  # that the two are the same is not seen
        ("1/(2-(height-height))", True),
    ],
)
def test_a_divisor_is_sound_where_no_size_from_0_on_makes_it_0(text: str, may: bool) -> None:
    assert Expression(text).may_divide_by_zero() == may


def test_the_names_are_told() -> None:
    assert Expression("height/16*(width/seq_len)").names == {"height", "width", "seq_len"}
    assert str(Expression("height / 16")) == "height / 16"


def test_a_name_inside_another_at_an_underscore_is_a_clash() -> None:
    names = frozenset({"seq", "seq_len", "len", "sequence"})
    assert clash("seq_len", names) == "len"
    assert clash("sequence", names) is None
    assert clash("seq_len", frozenset({"se", "seq_len", "q_len"})) is None
