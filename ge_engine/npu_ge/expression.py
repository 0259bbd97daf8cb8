"""Expression: the size of an output dim, as npu_ge computes it from the sizes of input dims.

The name of a dim in the ONNX file is the expression: whole numbers, names of input dims, + - * / and parentheses.
Division cuts off towards zero. There is no sign, no comma, no function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Union

from ops import SpecError

_TOKEN = re.compile(r"\s*([0-9]+|[A-Za-z_][A-Za-z0-9_]*|[-+*/()])")
_DEEPEST = 50  # parentheses
_LONGEST = 1000  # characters

FIX = "name the dim by whole numbers, input dims, + - * / and parentheses, as 'height/16*(width/16)'"


@dataclass(frozen=True)
class Operation:
    """Two expressions and what joins them."""

    sign: str
    left: Node
    right: Node


Node = Union[int, str, Operation]  # a number, the name of an input dim, or more


class Expression:
    """An expression, parsed.

    Errors: SpecError for what npu_ge would misread.

    >>> Expression("(height + 2) / 4 * width").value({"height": 9, "width": 3})
    6
    >>> sorted(Expression("seq_len*2").names)
    ['seq_len']
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = _Parser(text).parse()

    @property
    def names(self) -> frozenset[str]:
        return names_in(self.root)

    @property
    def divisors(self) -> tuple[Node, ...]:
        return tuple(node.right for node in _walk(self.root) if isinstance(node, Operation) and node.sign == "/")

    def value(self, sizes: Mapping[str, int]) -> int:
        """Errors: SpecError for a division by zero."""
        return value_of(self.root, sizes)

    def __str__(self) -> str:
        return self.text


def value_of(node: Node, sizes: Mapping[str, int]) -> int:
    """The value of a part of an expression.

    Errors: SpecError for a division by zero.
    """
    if isinstance(node, int):
        return node
    if isinstance(node, str):
        return sizes[node]
    left, right = value_of(node.left, sizes), value_of(node.right, sizes)
    if node.sign == "+":
        return left + right
    if node.sign == "-":
        return left - right
    if node.sign == "*":
        return left * right
    if right == 0:
        raise SpecError("Division by zero", fix="use a divisor that no input makes zero", rule="V14")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def names_in(node: Node) -> frozenset[str]:
    """The input dims that a part of an expression reads."""
    return frozenset(part for part in _walk(node) if isinstance(part, str))


def clash(name: str, names: Iterator[str] | frozenset[str]) -> str | None:
    """Another name that npu_ge would replace inside this one: it takes `_` for the end of a word.

    >>> clash("seq_len", frozenset({"seq", "seq_len"}))
    'seq'
    """
    inside = (other for other in names if other != name and re.search(rf"(?<![^_]){re.escape(other)}(?![^_])", name))
    return min(inside, default=None)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Operation):
        yield from _walk(node.left)
        yield from _walk(node.right)


class _Parser:
    """sum: product {+|- product};  product: atom {*|/ atom};  atom: number, name or ( sum )."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > _LONGEST:
            raise SpecError(f"a dim's name of {len(text)} characters", fix=FIX, rule="V14")
        self.tokens = list(self._split())
        self.at = 0
        self.depth = 0

    def parse(self) -> Node:
        root = self._joined("+-")
        if self.at < len(self.tokens):
            raise self._wrong(f"{self.tokens[self.at]!r} has no place")
        return root

    def _split(self) -> Iterator[str]:
        end, text = 0, self.text.rstrip()
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                raise self._wrong(f"{text[end:].lstrip()[0]!r} has no meaning")
            yield match[1]
            end = match.end()

    def _joined(self, signs: str) -> Node:
        def part() -> Node:
            return self._joined("*/") if signs == "+-" else self._atom()

        node = part()
        while self._next() and self._next() in signs:
            sign = self._take()
            node = Operation(sign, node, part())
        return node

    def _atom(self) -> Node:
        token = self._take()
        if token == "(":
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self._wrong(f"more than {_DEEPEST} parentheses")
            node = self._joined("+-")
            if self._take() != ")":
                raise self._wrong("a ) is missing")
            self.depth -= 1
            return node
        if not token or token in "+-*/)":
            raise self._wrong(f"a number or a name is missing before {token!r}" if token else "it ends too early")
        return int(token) if token.isdigit() else token

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self.at += 1
        return token

    def _wrong(self, reason: str) -> SpecError:
        return SpecError(f"dim {self.text!r} is no expression that npu_ge reads: {reason}", fix=FIX, rule="V14")
