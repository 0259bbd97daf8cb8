"""Plots: lines and bars as small SVGs, to stand inside a page, whose colours they take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from ..draw.words import width

WIDTH, HEIGHT = 460, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 14, 44
_TICKS = 5
_TEXT = 12


@dataclass(frozen=True)
class Line:
    """y over x. colour: a class of the page's. hollow: the points, by index, that are to be doubted."""

    name: str
    colour: str
    ys: Sequence[float]
    hollow: frozenset[int] = frozenset()


def line_plot(title: str, x_label: str, y_label: str, xs: Sequence[float], lines: Sequence[Line]) -> str:
    """Lines over evenly spaced xs, from zero upwards, with the names of the lines at their ends."""
    top = nice(max((max(line.ys) for line in lines), default=0.0))
    right = WIDTH - _RIGHT - (max(width(line.name, _TEXT) for line in lines) + 8 if len(lines) > 1 else 0)

    def x(index: int) -> float:
        return _LEFT + (right - _LEFT) * (index + 0.5) / len(xs)

    def y(value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top

    parts = [
        f'<svg class="plot" role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}"><title>{escape(title)}</title>'
    ]
    for tick in (top * index / _TICKS for index in range(_TICKS + 1)):
        parts.append(f'<path class="grid" d="M{_LEFT} {y(tick):.1f}H{right:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for index, value in enumerate(xs):
        parts.append(
            f'<text x="{x(index):.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{number(value)}</text>'
        )
    middle = (_LEFT + right) / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    parts.append(
        f'<text class="axis" transform="translate(14 {(HEIGHT - _BOTTOM + _TOP) / 2:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )
    ends = _apart([y(line.ys[-1]) for line in lines])
    for line, end in zip(lines, ends):
        points = [(x(index), y(value)) for index, value in enumerate(line.ys)]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        parts.append(f'<path class="curve {line.colour}" d="M{path}"/>')
        for index, (px, py) in enumerate(points):
            look = "hollow" if index in line.hollow else "dot"
            hint = f"{line.name}: {number(line.ys[index])} at {number(xs[index])}"
            where = f'cx="{px:.1f}" cy="{py:.1f}" r="4"'
            parts.append(f'<circle class="{look} {line.colour}" {where}><title>{escape(hint)}</title></circle>')
        if len(lines) > 1:
            parts.append(f'<text x="{points[-1][0] + 9:.1f}" y="{end + 4:.1f}">{escape(line.name)}</text>')
    return "".join((*parts, "</svg>"))


def bar(share: float, kind: str) -> str:
    """A share of 0..1, as a bar to stand in a table's cell. kind: of work, as a timeline calls it."""
    return f'<span class="bar"><span class="{kind}" style="width:{max(0.0, min(1.0, share)):.1%}"></span></span>'


def nice(value: float) -> float:
    """The next round number.

    >>> nice(0.37), nice(12), nice(0)
    (0.4, 20.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    rounded: float = next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value * 0.9999)
    return rounded


def number(value: float) -> str:
    """Three digits that count.

    >>> number(1234.5), number(0.12345), number(4)
    ('1,234', '0.123', '4')
    """
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _apart(ys: Sequence[float]) -> list[float]:
    """Texts at these heights, moved until none hides another."""
    order = sorted(range(len(ys)), key=lambda index: ys[index])
    moved = list(ys)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + _TEXT + 2)
    return moved


def ticks(end: float, most: int) -> Iterator[float]:
    """Round numbers from zero to `end`, so many at most."""
    step = nice(end / most)
    count = math.floor(end / step + 1e-9)
    return (step * index for index in range(count + 1))
