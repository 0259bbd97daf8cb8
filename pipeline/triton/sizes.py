"""Sizes of outputs as npu_ge wants them: an expression over the names of input dims, for each output dim that varies.

Its grammar has names, whole numbers, + - * / and parentheses, and a division that truncates.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ops import ExportError, Graded


def size_expression(dim: Graded, sizes: Sequence[Mapping[str, int]]) -> str:
    """A product of input dims, times a number and over another, that gives the dim's value at every size.

    Errors: ExportError when there is none.

    >>> size_expression(Graded("anchors", (8400, 6300)), [{"H": 640, "W": 640}, {"H": 640, "W": 480}])
    'H*W*21/1024'
    """
    names = list(sizes[0])
    for count in range(len(names), -1, -1):  # what follows from all of them is the likely law
        for chosen in itertools.combinations(names, count):
            expression = _over(dim, sizes, chosen)
            if expression:
                return expression
    raise ExportError(
        f"the output dim {dim.name} is {list(dim.values)} at the sizes {[tuple(size.values()) for size in sizes]}: "
        f"no product of {', '.join(names)} gives that",
        fix="use one size, or cut the model so that its outputs have a size that follows from the input's",
    )


def _over(dim: Graded, sizes: Sequence[Mapping[str, int]], chosen: Sequence[str]) -> str | None:
    products = []
    for size in sizes:
        product = 1
        for name in chosen:
            product *= size[name]
        products.append(product)
    ratio = Fraction(dim.values[0], products[0])
    for candidate in (ratio, ratio.limit_denominator(4096)):
        top, bottom = candidate.numerator, candidate.denominator
        if all(product * top // bottom == value for product, value in zip(products, dim.values)):
            factors = [*chosen, *([str(top)] if top != 1 or not chosen else [])]
            return "*".join(factors) + (f"/{bottom}" if bottom != 1 else "")
    return None
