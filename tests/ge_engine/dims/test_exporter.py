from __future__ import annotations

import ast
import itertools
import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named_chains import chain

from ge_engine.dims import Expression, legal_names, rewritten
from ge_engine.runtime import session
from ops import SpecError

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "ceiling": math.ceil,
    "trunc": math.trunc,
    "Max": max,
    "Min": min,
    "Mod": lambda a, b: a % b,
    "FloorDiv": lambda a, b: a // b,
    "CeilDiv": lambda a, b: -(-a // b),
}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: Fraction(a) / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a ** int(b),
    ast.USub: lambda a: -a,
}


def by_python(text: str, sizes: Mapping[str, int]) -> Any:
    """The exact value, walked over Python's own parse of the text."""

    def walk(node: Any) -> Any:
        if isinstance(node, ast.Constant):
            return Fraction(str(node.value))
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*map(walk, node.args))  # type: ignore[attr-defined]
        if isinstance(node, ast.UnaryOp):
            return OPERATORS[type(node.op)](walk(node.operand))
        return OPERATORS[type(node.op)](walk(node.left), walk(node.right))

    return walk(ast.parse(text, mode="eval").body)


def check_every_size(text: str, found: str, names: list[str]) -> int:
    """Every size from 1 on, of one name up to 2000, of two up to 50; how many of them make a whole number."""
    expression, whole = Expression(found), 0
    for row in itertools.product(range(1, {1: 2001, 2: 51, 3: 13}[len(names)]), repeat=len(names)):
        sizes = dict(zip(names, row))
        value = by_python(text, sizes)
        if value.denominator == 1:
            whole += 1
            assert expression.value(sizes) == value, (text, found, sizes)
    assert not expression.may_divide_by_zero()
    return whole


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("floor(height/16 + 1)", "height/16+1"),
        ("floor(height/2 - 1/2) + 1", "(height+1)/2"),
        ("floor((w + 2)/4)", "(w+2)/4"),
        ("floor(0.5*height)", "height/2"),
        ("s0//2", "s0/2"),
        ("((s0 - 1)//2) + 1", "(s0+1)/2"),
        ("(((s0 - 1)//2) + 1 - 1)//2 + 1", "(s0+3)/4"),
        ("((s0 - 7)//2) + 1", "(s0+1)/2-3"),  # at 2 it is -2; cut off towards zero, it would be -1
        ("(s0 - 3)//2", "(s0+1)/2-2"),
        ("ceil(x/2)", "(x+1)/2"),
        ("ceiling(x/2) + 1", "(x+1)/2+1"),
        ("2*s0", "2*s0"),
        ("2.0*s0", "2*s0"),
        ("-1 + s0", "s0-1"),
        ("-s0 + 9", "9-s0"),
        ("-s0", "0-s0"),
        ("s0**2", "s0*s0"),
        ("(s0 + 1)**2", "s0*s0+2*s0+1"),
        ("s0 % 2", "s0-2*(s0/2)"),
        ("Mod(s0, 4)", "s0-4*(s0/4)"),
        ("5*s0//4", "s0+s0/4"),
        ("(5 - s0)//2", "(s0+1)/2+2-s0"),
        ("s0*s1/4", "s0*s1/4"),
        ("(s0//2)*(s1//2)", "(s0/2)*(s1/2)"),
        ("((s0 - 1)//2 + 1)*((s1 - 1)//2 + 1)", "((s0+1)/2)*((s1+1)/2)"),
        ("3*floor(s0/2)//4", "3*(s0/2)/4"),
        ("FloorDiv(s0, 2) + CeilDiv(s1, 2)", "(s1+1)/2+s0/2"),
        ("Max(1, s0)", "s0"),
        ("Min(s0, s0 + 2)", "s0"),
        ("trunc(s0/2)", "s0/2"),
        ("s0 - s0 + 84", "84"),
        ("  s0  ", "s0"),
        ("640", "640"),
        ("0*s0", "0"),
    ],
)
def test_what_exporters_write_is_rewritten_and_equal_for_every_size(text: str, found: str) -> None:
    names = sorted({node.id for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)} - {*FUNCTIONS})
    assert rewritten(text, {name: name for name in names}) == found
    if names:
        assert check_every_size(text.strip(), found, names) > 3


@st.composite
def exported(draw: Any, depth: int = 4) -> str:
    """What convolutions, pools, slices, concatenations and resizes make of dims, in several hands."""
    if depth == 0:
        return str(draw(st.sampled_from(["s0", "s1"])))
    inner, number = draw(exported(depth - 1)), draw(st.integers(1, 9))
    forms = [
        "({0} - {1})//{2} + 1", "floor({0}/{2} - {1}/{2}) + 1", "ceil({0}/{2})", "floor(({0} + {1})/{2})", "{1}*({0})",
        "({0}) - {1}", "-{1} + ({0})", "({0}) + s1", "({0}) % {2}", "FloorDiv({0}, {2})", "floor(0.25*({0}))", "-({0})",
        "{0}",
    ]  # fmt: skip
    return str(draw(st.sampled_from(forms))).format(inner, number, draw(st.integers(2, 5)))


@given(exported(), st.lists(st.integers(1, 5000), min_size=2, max_size=2))
def test_any_of_them_is_equal_wherever_it_is_whole(text: str, row: list[int]) -> None:
    names = ["s0", "s1"]
    try:
        found = Expression(rewritten(text, {name: name for name in names}))
    except SpecError as error:
        assert "too many" in error.message or "too large" in error.message or "characters" in error.message  # noqa: PT017
        return
    for sizes in (dict(zip(names, row)), {"s0": 1, "s1": 1}, {"s0": 2, "s1": 1}):
        value = by_python(text, sizes)
        assert value.denominator > 1 or found.value(sizes) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it ends too early"),
        ("Max(s0, 2)", "npu_ge has no maximum and no minimum"),
        ("Min(s0, 640)", "npu_ge has no maximum and no minimum"),
        ("s0/s1", "it divides by s1, which may be 0"),
        ("s0//(s1 - 1)", "it divides by s1-1, which may be 0"),
        ("s0 % s1", "it divides by s1, which may be 0"),
        ("s0//0", "it divides by 0"),
        ("s0/(2 - 2)", "it divides by 0"),
        ("unk__12", r"unk__12 is no input dim \(s0, s1\)"),
        ("sqrt(s0)", r"nobody knows sqrt\(\) of 1"),
        ("floor(s0, 2)", r"nobody knows floor\(\) of 2"),
        ("s0**s1", "the power s1 is no number from 0 to 8"),
        ("s0**9", "the power 9 is no number from 0 to 8"),
        ("s0**-1", "the power 0-1 is no number from 0 to 8"),
        ("s0**0.5", "the power 1/2 is no number from 0 to 8"),
        ("trunc(s0/2 - 3)", "it cuts off what may be below 0"),
        ("s0 s1", "'s1' has no place"),
        ("__import__('os')", '"\'" has no meaning'),
        ("s0 if s1 else 2", "'if' has no place"),
        ("lambda: 1", "':' has no meaning"),
    ],
)
def test_what_cannot_be_rewritten_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason) as error:
        rewritten(text, {"s0": "s0", "s1": "s1"})
    assert error.value.rule == "V14"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 40 + "s0" + ")**2//3" * 40,
        "(" * 40 + "s0 + s1" + ")**8" * 40,
        "9" * 990,
        "+".join(f"s0**{n % 9}*s1**{n % 8}//{n + 2}" for n in range(60)),
        "floor(" * 49 + "s0/3" + "*5/7)" * 49,
        "-" * 998 + "s0",
    ],
)
def test_a_hostile_text_ends_soon(text: str) -> None:
    start = time.process_time()
    try:
        Expression(rewritten(text, {"s0": "s0", "s1": "s1"}))
    except SpecError as error:
        assert len(str(error)) < 400  # noqa: PT017
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("input.1_dim_2//2", "h/2"),
        ("2*batch size", "2*n"),
        ("batch size*input.1_dim_2", "h*n"),
        ("高 + 1", "w+1"),
        ("input.1_dim_2 - 3*fixed", "h-24"),
        ("fixed", "8"),
        ("input.1_dim_2", "h"),
        ("a-b", "w"),
    ],
)
def test_names_with_dots_and_blanks_are_told_from_signs(text: str, found: str) -> None:
    names: dict[str, str | int] = {"input.1_dim_2": "h", "batch size": "n", "高": "w", "fixed": 8, "a-b": "w"}
    assert rewritten(text, names) == found


def test_an_odd_name_inside_another_is_not_replaced() -> None:
    with pytest.raises(SpecError, match="has no meaning"):
        rewritten("x.12 + 1", {"x.1": "x"})
    assert rewritten("x.12 + x.1", {"x.1": "a", "x.12": "b"}) == "a+b"


@pytest.mark.parametrize("seed", range(30))
def test_the_shapes_that_onnxruntime_gives_follow_from_the_exporters_names(seed: int) -> None:
    model, names, declared = chain(seed)
    assert any("+" in str(dim) or "*" in str(dim) for dim in declared)
    legal = legal_names(names)
    expressions = [Expression(str(dim) if isinstance(dim, int) else rewritten(dim, legal)) for dim in declared]
    run = session(model).run
    for batch, height, width in ((1, 64, 64), (2, 61, 80), (3, 75, 58), (1, 97, 101), (1, 60, 131)):
        sizes = dict(zip(legal.values(), (batch, height, width)))
        (made,) = run(None, {"x": np.ones((batch, 2, height, width), np.float32)})
        assert [expression.value(sizes) for expression in expressions] == list(made.shape), declared
