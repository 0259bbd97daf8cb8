"""Law: an expression that gives an output dim its size at each size of the input dims, found from those sizes alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ops import SpecError

from .expression import Expression

_STRIDES = (1, 2, 4, 8, 16, 32, 64)
_LARGEST = 2**31 - 1  # of what is computed on the way: the backend's server ends where a number outgrows its int


def law(values: Sequence[int], sizes: Sequence[Mapping[str, int]], declared: Sequence[str] = ()) -> str | None:
    """The first that is right at every size: of those declared, of products, of rows, and of products of rows.

    values: of the output dim, one for each of `sizes`. None where there is no such law.

    >>> law((8400, 6300), [{"H": 640, "W": 640}, {"H": 640, "W": 480}])
    'H*W*21/1024'
    >>> law((17, 25), [{"n": 33}, {"n": 49}])
    '(n+1)/2'
    """
    names = list(sizes[0])
    products = list(_products(values, sizes, names))
    likely = [text for text, bottom in products if bottom & (bottom - 1) == 0]  # strides are powers of 2
    others = [text for text, _ in products]
    rows, grids = _lines(values, sizes, names), _grids(values, sizes, names)
    candidates = itertools.chain(declared, likely, rows, grids, others)
    return next((text for text in candidates if _fits(text, values, sizes)), None)


def _fits(text: str, values: Sequence[int], sizes: Sequence[Mapping[str, int]]) -> bool:
    try:
        expression = Expression(text)
        return all(expression.value(size) == value for size, value in zip(sizes, values))
    except (SpecError, KeyError):
        return False


def _products(
    values: Sequence[int], sizes: Sequence[Mapping[str, int]], names: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Dims times a number over another, and that one; what follows from all of them is the likely law."""
    for count in range(len(names), -1, -1):
        for chosen in itertools.combinations(names, count):
            products = [math.prod(size[name] for name in chosen) for size in sizes]
            ratio = Fraction(values[0], products[0])
            for candidate in (ratio, ratio.limit_denominator(4096)):
                top, bottom = candidate.numerator, candidate.denominator
                factors = [*chosen, *([str(top)] if top != 1 or not chosen else [])]
                if max(products) * top <= _LARGEST:
                    yield "*".join(factors) + (f"/{bottom}" if bottom != 1 else ""), bottom


def _lines(values: Sequence[int], sizes: Sequence[Mapping[str, int]], names: Sequence[str]) -> Iterator[str]:
    """A row of steps, as a convolution leaves it, more or less a number; and a line through two of the sizes."""
    for name in names:
        first = sizes[0][name]
        rows = [(stride, offset) for stride in _STRIDES for offset in range(stride)]
        shifts = {(stride, offset): values[0] - (first + offset) // stride for stride, offset in rows}
        for stride, offset in sorted(rows, key=lambda row: abs(shifts[row])):
            yield _row(name, offset, stride) + _shift(shifts[stride, offset])
        others = [index for index, size in enumerate(sizes) if size[name] != first]
        if others:
            slope = Fraction(values[others[0]] - values[0], sizes[others[0]][name] - first)
            if slope > 0:
                yield _line(name, slope, values[0] - first * slope)


def _line(name: str, slope: Fraction, start: Fraction) -> str:
    over = max(slope.denominator, start.denominator)
    top = (name if slope * over == 1 else f"{slope * over}*{name}") + _shift(start * over)
    return top if over == 1 else f"({top})/{over}"


def _row(name: str, offset: int, stride: int) -> str:
    top = f"({name}+{offset})" if offset else name
    return top if stride == 1 else f"{top}/{stride}"


def _shift(number: Fraction | int) -> str:
    return f"{int(number):+}" if number else ""


def _grids(values: Sequence[int], sizes: Sequence[Mapping[str, int]], names: Sequence[str]) -> Iterator[str]:
    """The product of two rows, as a flattened picture has it."""
    for one, other in itertools.combinations(names, 2):
        for shift, stride in itertools.product(sorted(range(-4, 5), key=abs), _STRIDES):
            for offset in range(stride):
                row = [(size[one] + offset) // stride + shift for size in sizes]
                if all(factor > 0 and not value % factor for factor, value in zip(row, values)):
                    rest = [value // factor for factor, value in zip(row, values)]
                    fitting = (text for text in _lines(rest, sizes, [other]) if _fits(text, rest, sizes))
                    yield from (
                        f"{_factor(_row(one, offset, stride) + _shift(shift))}*{_factor(text)}" for text in fitting
                    )


def _factor(text: str) -> str:
    return text if text.isidentifier() else f"({text})"
