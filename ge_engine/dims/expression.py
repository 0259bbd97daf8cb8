"""Expression: the size of an output dim, as npu_ge computes it from the sizes of input dims.

The name of a dim in the ONNX file is the expression: whole numbers, names of input dims, + - * / and parentheses.
Division cuts off towards zero. There is no sign, no comma, no function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Optional

from ops import SpecError

from .parser import Act, Item, Unreadable, postfix

FIX = "name the dim by whole numbers, input dims, + - * / and parentheses, as 'height/16*(width/16)'"

Bounds = tuple[Optional[int], Optional[int]]  # at least, at most; None: nobody knows


class Expression:
    """An expression, parsed.

    Errors: SpecError (V14) for what npu_ge would misread.

    >>> Expression("(height + 2) / 4 * width").value({"height": 9, "width": 3})
    6
    >>> sorted(Expression("seq_len*2").names)
    ['seq_len']
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._items = postfix(text)
            for item in self._items:
                _check(item)
        except Unreadable as error:
            raise SpecError(
                f"dim {_short(text)} is no expression that npu_ge reads: {error}", fix=FIX, rule="V14"
            ) from None

    @property
    def names(self) -> frozenset[str]:
        """The input dims that it reads."""
        return frozenset(item for item in self._items if isinstance(item, str))

    def value(self, sizes: Mapping[str, int]) -> int:
        """Errors: SpecError (V14) for a division by zero."""
        stack: list[int] = []
        for item in self._items:
            if isinstance(item, Act):
                right, left = stack.pop(), stack.pop()
                stack.append(self._joined(item.sign, left, right))
            else:
                stack.append(sizes[item] if isinstance(item, str) else int(item))
        return stack.pop()

    def may_divide_by_zero(self, reachable: Iterable[Mapping[str, int]] | None = None) -> bool:
        """Whether any of these sizes makes a divisor 0; without them, whether any size from 0 on might.

        >>> Expression("16/(height+1)").may_divide_by_zero(), Expression("16/height").may_divide_by_zero()
        (False, True)
        """
        if reachable is None:
            return self._any_size_may()
        try:
            for sizes in reachable:
                self.value(sizes)
        except SpecError:
            return True
        return False

    def __str__(self) -> str:
        return self.text

    def _joined(self, sign: str, left: int, right: int) -> int:
        if sign == "+":
            return left + right
        if sign == "-":
            return left - right
        if sign == "*":
            return left * right
        if right == 0:
            raise SpecError(
                f"dim {_short(self.text)}: Division by zero", fix="use a divisor that no input makes zero", rule="V14"
            )
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient

    def _any_size_may(self) -> bool:
        stack: list[Bounds] = []
        for item in self._items:
            if isinstance(item, Act):
                right, left = stack.pop(), stack.pop()
                if item.sign == "/" and not (right[0] or 0) > 0:
                    return True
                stack.append(_bounds(item.sign, left, right))
            else:
                stack.append((0, None) if isinstance(item, str) else (int(item), int(item)))
        return False


def clash(name: str, names: Iterable[str]) -> str | None:
    """Another name that npu_ge would replace inside this one: it takes `_` for the end of a word.

    >>> clash("seq_len", {"seq", "seq_len"})
    'seq'
    """
    inside = (other for other in names if other != name and f"_{other}_" in f"_{name}_")
    return min(inside, default=None)


def _check(item: Item) -> None:
    """Errors: Unreadable for what only exporters have."""
    if isinstance(item, Act):
        if item.arity == 1 and item.sign in "+-":
            raise Unreadable(f"it has no sign: a number or a name is missing before {item.sign!r}")
        if item.sign not in ("+", "-", "*", "/"):
            raise Unreadable(f"it has no {item.sign}" + ("()" if item.sign.isidentifier() else ""))
    elif not isinstance(item, (int, str)):
        raise Unreadable(f"it has whole numbers only, and this is {float(item)}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _bounds(sign: str, left: Bounds, right: Bounds) -> Bounds:
    """What can be said of a result; of what may be below zero, nothing but by + and -."""
    (a, b), (c, d) = left, right
    if sign == "+":
        return (None if a is None or c is None else a + c), (None if b is None or d is None else b + d)
    if sign == "-":
        return (None if a is None or d is None else a - d), (None if b is None or c is None else b - c)
    if a is None or c is None or a < 0 or c < 0:
        return None, None
    if sign == "*":
        return a * c, (None if b is None or d is None else b * d)
    return (0 if d is None else a // d), (None if b is None else b // c)
