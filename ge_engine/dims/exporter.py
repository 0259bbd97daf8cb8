"""Exporter: the names that exporters give to output dims, rewritten for npu_ge.

They are sympy's or Python's expressions: `/` is exact, `//` and floor round down, also below zero. A size is a whole
number, so what is no whole number is rounded down: wherever the exact quotient is none, the name fits no size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ops import SpecError
from ops.unique import unique

from .expression import FIX, Expression
from .floors import Form, substituted
from .parser import Act, Item, Unreadable, postfix

_HIGHEST = 8  # power


def rewritten(text: str, names: Mapping[str, str | int]) -> str:
    """The name of an output dim as an expression of npu_ge's, equal for all sizes of the input dims from 1 on.

    names: for each name of an input dim, the name that npu_ge is to read, or its size where that is fixed.
    Errors: SpecError (V14) where there is no such expression, with the reason.

    >>> rewritten("floor(height/16 + 1)", {"height": "height"})
    'height/16+1'
    >>> rewritten("((s0 - 1)//2) + 1", {"s0": "rows"})
    '(rows+1)/2'
    """
    try:
        if text in names:
            return str(names[text])
        plain, meant = _plain(text, names)
        found = str(_form(postfix(plain), meant).floor())
        Expression(found)
    except Unreadable as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise SpecError(f"dim {shown!r} cannot be written for npu_ge: {error}", fix=FIX, rule="V14") from None
    return found


def _plain(text: str, names: Mapping[str, str | int]) -> tuple[str, Mapping[str, str | int]]:
    """The text with names that can be parsed, and what those stand for: exporters write dots and blanks into them."""
    odd = sorted(filter(_is_odd, names), key=len, reverse=True)
    if not odd:
        return text, names
    stand_in: dict[str, str] = {}
    for name in odd:
        own = names[name]
        stand_in[name] = unique(own if isinstance(own, str) else "dim", {*names, *stand_in.values()})
    pattern = "|".join(rf"(?<![\w.]){re.escape(name)}(?![\w.])" for name in odd)
    plain = re.sub(pattern, lambda match: stand_in[match[0]], text)
    return plain, {stand_in.get(name, name): own for name, own in names.items()}


def _is_odd(name: str) -> bool:
    """Neither a usual name nor a number, and no expression by itself."""
    usual = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|[0-9. ]*", name)
    return not usual and not re.search(r"[-+*/%(),]", name)


def _form(items: tuple[Item, ...], names: Mapping[str, str | int]) -> Form:
    stack: list[Form] = []
    for item in items:
        if isinstance(item, Act):
            given = stack[len(stack) - item.arity :]
            del stack[len(stack) - item.arity :]
            stack.append(_done(item, given))
        else:
            stack.append(substituted(names, item) if isinstance(item, str) else Form.number(item))
    return stack.pop()


def _done(act: Act, given: list[Form]) -> Form:
    known = _ACTS.get((act.sign, act.arity)) or _ACTS.get((act.sign, 0))
    if known is None:
        raise Unreadable(f"nobody knows {act.sign}() of {act.arity}")
    return known(*given)


def _over(top: Form, bottom: Form) -> Form:
    divisor = bottom.constant
    if divisor is None:
        raise Unreadable(f"it divides by {bottom}, which may be 0")
    if divisor == 0:
        raise Unreadable("it divides by 0")
    return top.times(1 / divisor)


def _floor_over(top: Form, bottom: Form) -> Form:
    return _over(top, bottom).floor()


def _ceil_over(top: Form, bottom: Form) -> Form:
    return _over(top, bottom).ceil()


def _rest(top: Form, bottom: Form) -> Form:
    return top - _floor_over(top, bottom) * bottom


def _power(base: Form, exponent: Form) -> Form:
    times = exponent.constant
    if times is None or times.denominator != 1 or not 0 <= times <= _HIGHEST:
        raise Unreadable(f"the power {exponent} is no number from 0 to {_HIGHEST}")
    result = Form.number(1)
    for _ in range(int(times)):
        result *= base
    return result


def _largest(*given: Form) -> Form:
    for one in given:
        if all((one - other).is_never_negative() for other in given):
            return one
    raise Unreadable("npu_ge has no maximum and no minimum")


def _smallest(*given: Form) -> Form:
    return _largest(*(one.times(-1) for one in given)).times(-1)


def _cut_off(form: Form) -> Form:
    if not form.is_never_negative():
        raise Unreadable("it cuts off what may be below 0")
    return form.floor()


_ACTS: dict[tuple[str, int], Callable[..., Form]] = {  # 0: of any number of values
    ("+", 2): lambda a, b: a + b,
    ("-", 2): lambda a, b: a - b,
    ("*", 2): lambda a, b: a * b,
    ("/", 2): _over,
    ("//", 2): _floor_over,
    ("%", 2): _rest,
    ("**", 2): _power,
    ("+", 1): lambda a: a,
    ("-", 1): lambda a: a.times(-1),
    ("floor", 1): Form.floor,
    ("ceil", 1): Form.ceil,
    ("ceiling", 1): Form.ceil,
    ("int", 1): _cut_off,
    ("trunc", 1): _cut_off,
    ("Max", 0): _largest,
    ("max", 0): _largest,
    ("Min", 0): _smallest,
    ("min", 0): _smallest,
    # torch's own
    ("FloorDiv", 2): _floor_over,
    ("CleanDiv", 2): _over,
    ("CeilDiv", 2): _ceil_over,
    ("IntTrueDiv", 2): _over,
    ("Mod", 2): _rest,
    ("PythonMod", 2): _rest,
    ("FloorToInt", 1): Form.floor,
    ("CeilToInt", 1): Form.ceil,
    ("TruncToInt", 1): _cut_off,
    ("ToFloat", 1): lambda a: a,
}
