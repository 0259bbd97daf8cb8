"""Parser: the name of a dim, to postfix.

It reads what npu_ge reads (names, whole numbers, + - * / and parentheses) and what exporters write beside that:
decimals, signs, // % ** and functions as floor(x). Each of the two languages then refuses what it does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, Union

_TOKEN = re.compile(r" *([0-9]+(?:\.[0-9]+)?|[A-Za-z_][A-Za-z0-9_]*|\*\*|//|[-+*/%(),])")
_DEEPEST = 50  # parentheses, and powers of powers
_LONGEST = 1000  # characters


class Unreadable(ValueError):
    """Why a text is no expression."""


class Act(NamedTuple):
    """What is done to the values before it: a sign, or a function's name."""

    sign: str
    arity: int


Item = Union[int, Fraction, str, Act]  # a whole number, a decimal, the name of a dim


def postfix(text: str) -> tuple[Item, ...]:
    """Errors: Unreadable.

    >>> postfix("2*(height-1)")
    (2, 'height', 1, Act(sign='-', arity=2), Act(sign='*', arity=2))
    """
    return tuple(_Parser(text).items)


class _Parser:
    """sum: product {+|- product};  product: signed {*|/|//|% signed};  signed: {+|-} atom [** signed].

    atom: number, name, name ( sum {, sum} ) or ( sum ).
    """

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise Unreadable(f"it has {len(text)} characters")
        self.tokens = list(_split(text.rstrip(" ")))
        self.at = 0
        self.depth = 0
        self.items: list[Item] = []
        self._sum()
        if self.at < len(self.tokens):
            raise Unreadable(f"{self.tokens[self.at]!r} has no place")

    def _sum(self) -> None:
        self._product()
        while self._next() in ("+", "-"):
            sign = self._take()
            self._product()
            self.items.append(Act(sign, 2))

    def _product(self) -> None:
        self._signed()
        while self._next() in ("*", "/", "//", "%"):
            sign = self._take()
            self._signed()
            self.items.append(Act(sign, 2))

    def _signed(self) -> None:
        signs = []
        while self._next() in ("+", "-"):
            signs.append(self._take())
        self._atom()
        if self._next() == "**":
            self._take()
            self._deeper()
            self._signed()
            self.depth -= 1
            self.items.append(Act("**", 2))
        self.items.extend(Act(sign, 1) for sign in reversed(signs))

    def _atom(self) -> None:
        token = self._take()
        if token == "(":
            self._inside()
        elif token[:1].isdigit():
            self.items.append(Fraction(token) if "." in token else int(token))
        elif not token[:1].isidentifier():
            raise Unreadable(f"a number or a name is missing before {token!r}" if token else "it ends too early")
        elif self._next() == "(":
            self._take()
            self.items.append(Act(token, self._inside()))
        else:
            self.items.append(token)

    def _inside(self) -> int:
        """What stands in parentheses, and how many values that is."""
        self._deeper()
        self._sum()
        count = 1
        while self._next() == ",":
            self._take()
            self._sum()
            count += 1
        if self._take() != ")":
            raise Unreadable("a ) is missing")
        self.depth -= 1
        return count

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unreadable(f"more than {_DEEPEST} parentheses")

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self.at += 1
        return token


def _split(text: str) -> Iterator[str]:
    end = 0
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise Unreadable(f"{text[end:].lstrip(' ')[0]!r} has no meaning")
        yield match[1]
        end = match.end()
