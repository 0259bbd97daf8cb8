"""Floors: sizes in one normal form, a sum of products of names and floors, in which floor and cut-off are the same.

Each floor is of a sum whose coefficients are whole numbers from 0 to the divisor, since what is larger, or below zero,
stands before it: floor((5*x - 1) / 4) is x + floor((x + 3) / 4) - 1. So no numerator is below 0, and npu_ge's
division, which cuts off towards zero, is the floor. That is the proof that a text from here is equal for all sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Union

from .parser import Unreadable

_MOST_TERMS = 32
_MOST_FACTORS = 8
_HEAVIEST = 64  # names in a floor, and in the floors in it
_MOST_BITS = 128  # of a number


@dataclass(frozen=True)
class Floor:
    """The whole part of a numerator over a divisor. weight: how many factors are in it."""

    numerator: Form
    divisor: int
    weight: int = field(compare=False)

    @classmethod
    def of(cls, numerator: Form, divisor: int) -> Floor:
        factors = [factor for product, _ in numerator.terms for factor in product]
        weight = sum(factor.weight if isinstance(factor, Floor) else 1 for factor in factors)
        if weight > _HEAVIEST:
            raise Unreadable("it has too many terms")
        return cls(numerator, divisor, weight)

    def __str__(self) -> str:
        top = str(self.numerator)
        return f"{top if len(self.numerator.terms) == 1 else f'({top})'}/{self.divisor}"


Factor = Union[str, Floor]
Product = tuple[Factor, ...]  # () is the number 1


@dataclass(frozen=True)
class Form:
    """A sum: of each product, how often. Its text is an expression of npu_ge's, if every number in it is whole.

    Errors: Unreadable where it would get out of hand.
    """

    terms: tuple[tuple[Product, Fraction], ...]

    @classmethod
    def of(cls, terms: Iterable[tuple[Product, Fraction]]) -> Form:
        sums: dict[Product, Fraction] = {}
        for product, count in terms:
            sums[product] = sums.get(product, Fraction(0)) + count
        kept = [(product, count) for product, count in sums.items() if count]
        if len(kept) > _MOST_TERMS or any(len(product) > _MOST_FACTORS for product, _ in kept):
            raise Unreadable("it has too many terms")
        if any(max(count.numerator.bit_length(), count.denominator.bit_length()) > _MOST_BITS for _, count in kept):
            raise Unreadable("its numbers are too large")
        return cls(tuple(sorted(kept, key=_order)))

    @classmethod
    def number(cls, value: Fraction | int) -> Form:
        return cls.of([((), Fraction(value))])

    @classmethod
    def name(cls, name: str) -> Form:
        return cls.of([((name,), Fraction(1))])

    def __add__(self, other: Form) -> Form:
        return Form.of((*self.terms, *other.terms))

    def __sub__(self, other: Form) -> Form:
        return self + other.times(-1)

    def __mul__(self, other: Form) -> Form:
        return Form.of(
            (tuple(sorted((*a, *b), key=str)), count * times) for a, count in self.terms for b, times in other.terms
        )

    def times(self, number: Fraction | int) -> Form:
        return Form.of((product, count * number) for product, count in self.terms)

    @property
    def constant(self) -> Fraction | None:
        """Its value, if no name is in it."""
        return None if any(product for product, _ in self.terms) else sum((c for _, c in self.terms), Fraction(0))

    @property
    def denominator(self) -> int:
        return reduce(math.lcm, (count.denominator for _, count in self.terms), 1)

    def floor(self) -> Form:
        divisor = self.denominator
        before = Form.of((product, Fraction(math.floor(count))) for product, count in self.terms)
        rest = (self - before).times(divisor)
        common = reduce(math.gcd, (int(count) for product, count in rest.terms if product), divisor)
        top = Form.of((product, Fraction(int(count) // common)) for product, count in rest.terms)
        if common == divisor or not top.terms:  # what is left of the number is less than 1
            return before
        return before + _floor(top, divisor // common)

    def ceil(self) -> Form:
        divisor = self.denominator
        return (self + Form.number(Fraction(divisor - 1, divisor))).floor()

    def is_never_negative(self) -> bool:
        """Whether it is shown to be 0 at least wherever every name is 1 at least."""
        above = Form.number(0)
        for product, count in self.terms:
            grown = Form.number(count)
            for factor in product:  # a name is 1 and what it is more than that
                grown *= Form.of([((factor,), Fraction(1))]) + Form.number(isinstance(factor, str))
            above += grown
        return all(count >= 0 for _, count in above.terms)

    def __str__(self) -> str:
        return "".join(self._parts()) or "0"

    def _parts(self) -> Iterator[str]:
        first = True
        for product, count in sorted(self.terms, key=lambda term: term[1] < 0):
            sign = "-" if count < 0 else "+"
            if not first or count < 0:
                yield "0" * first + sign
            yield _text(product, abs(count))
            first = False


def _order(term: tuple[Product, Fraction]) -> tuple[int, str]:
    return -len(term[0]), ",".join(map(str, term[0]))


def _floor(top: Form, divisor: int) -> Form:
    """A floor in a floor is one: floor((floor(n / d) + k) / e) is floor((n + k*d) / (d*e))."""
    inner = [product for product, count in top.terms if any(isinstance(factor, Floor) for factor in product)]
    if len(inner) == 1 and len(inner[0]) == 1 and dict(top.terms)[inner[0]] == 1:
        (floor,) = inner[0]
        assert isinstance(floor, Floor)
        rest = Form.of(term for term in top.terms if term[0] != inner[0])
        whole = floor.numerator + rest.times(floor.divisor)
        return whole.times(Fraction(1, floor.divisor * divisor)).floor()
    return Form.of([((Floor.of(top, divisor),), Fraction(1))])


def _text(product: Product, count: Fraction) -> str:
    alone = count == 1 and len(product) == 1
    factors = [str(factor) if alone or isinstance(factor, str) else f"({factor})" for factor in product]
    if count != 1 or not product:
        factors.insert(0, str(count))
    return "*".join(factors)


def substituted(names: Mapping[str, str | int], name: str) -> Form:
    """What a name stands for. Errors: Unreadable for one that is no input dim."""
    if name not in names:
        raise Unreadable(f"{name} is no input dim ({', '.join(names) or 'they have no names'})")
    known = names[name]
    return Form.name(known) if isinstance(known, str) else Form.number(known)
