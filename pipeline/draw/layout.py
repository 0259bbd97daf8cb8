"""Layout: where everything stands. Sweeps bring each row into an order with few crossings, and then it is placed.

Source: Sugiyama, Tagawa and Toda 1981 (layers, ordered by barycenters); pooling of adjacent violators (within a row).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .drawing import Drawing, Frame
from .paper import FRAME, GAP, Group, Item, Paper, extent
from .place import place
from .straight import straighten

MARGIN = 16.0
_SWEEPS = 16
_ROW, _STEEP, _MOST_ROW = 16.0, 0.10, 44.0  # between rows: at least; more where a wire goes far to a side

Point = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """An item, by its left upper corner."""

    item: Item
    x: float
    y: float


@dataclass(frozen=True)
class PlacedFrame:
    """A frame; its text stands in the gutter on its left."""

    frame: Frame
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Path:
    """A piece of a wire, from upper to lower: straight to `bend[0]`, then in a bow, then straight from `bend[1]`."""

    start: Point
    bend: tuple[float, float]
    end: Point
    arrow: bool


@dataclass(frozen=True)
class Layout:
    """Everything, in pixels."""

    width: float
    height: float
    items: tuple[Placed, ...]
    frames: tuple[PlacedFrame, ...]
    paths: tuple[Path, ...]


def layout(drawing: Drawing) -> Layout:
    """Where the parts of a drawing stand."""
    paper = Paper(drawing)
    _spread(paper)
    best = (_crossings(paper), _snapshot(paper))
    for sweep in range(_SWEEPS):
        _sweep(paper, down=sweep % 2 == 0)
        score = _crossings(paper)
        if score < best[0]:
            best = (score, _snapshot(paper))
    _restore(paper, best[1])
    place(paper)
    straighten(paper)
    return _drawn(paper)


def separated(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to those that are wanted (in squares), each at least its gap behind the one before.

    >>> separated([0, 0, 10], [4, 4])
    [-2.0, 2.0, 10.0]
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, int]] = []  # mean and count, rising
    for value, offset in zip(wanted, offsets):
        mean, count = value - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets)]


def _spread(paper: Paper) -> None:
    """Side by side, to start with, as they were declared."""
    for band in paper.bands:
        left = 0.0
        for group in band:
            right = left
            for row in group.rows.values():
                at = left
                for item in row:
                    item.x = at + item.width / 2
                    at += item.width + GAP
                right = max(right, at)
            left = right + 2 * FRAME


def _sweep(paper: Paper, down: bool) -> None:
    for band in paper.bands if down else reversed(paper.bands):
        for group in band:
            for row in sorted(group.rows, reverse=not down):
                _place_row(group, row, down)
            if group.frame is None and all(len(row) == 1 for row in group.rows.values()) and len(group.rows) > 1:
                _straighten(group)
        _place_groups(band)


def _place_row(group: Group, row: int, down: bool) -> None:
    items = group.rows[row]
    wanted = {id(item): _wanted(item, down) for item in items}
    items.sort(key=lambda item: wanted[id(item)])
    gaps = [(a.width + b.width) / 2 + GAP for a, b in pairwise(items)]
    for item, x in zip(items, separated([wanted[id(item)] for item in items], gaps)):
        item.x = x


def _wanted(item: Item, down: bool) -> float:
    """Where its neighbours are: those of the side from where the sweep comes, if it has any there."""
    near, far = (item.ups, item.downs) if down else (item.downs, item.ups)
    seen = near or far
    if not seen:
        return item.x
    return sum(other.anchor(item) - (item.anchor(other) - item.x) for other in seen) / len(seen)


def _straighten(group: Group) -> None:
    mean = sum(item.x for item in group.items) / len(group.rows)
    for item in group.items:
        item.x = mean


def _place_groups(groups: list[Group]) -> None:
    """Apart from each other, in the order of their middles; what is in them moves with them."""
    if len(groups) < 2:
        return
    extents = {id(group): extent(group) for group in groups}

    def middle(group: Group) -> float:
        return sum(extents[id(group)]) / 2

    groups.sort(key=middle)
    half = [(extents[id(group)][1] - extents[id(group)][0]) / 2 for group in groups]
    gaps = [a + b + GAP for a, b in pairwise(half)]
    for group, x in zip(groups, separated([middle(group) for group in groups], gaps)):
        move = x - middle(group)
        for item in group.items:
            item.x += move


def _crossings(paper: Paper) -> float:
    """How many pairs of wires cross, and a little for their length."""
    by_row: dict[int, list[tuple[float, float]]] = {}
    length = 0.0
    for upper, lower in paper.links():
        a, b = upper.anchor(lower), lower.anchor(upper)
        by_row.setdefault(upper.row, []).append((a, b))
        length += abs(a - b)
    count = 0
    for links in by_row.values():
        links.sort()
        count += sum(1 for index, (_, b) in enumerate(links) for _, other in links[index + 1 :] if other < b)
    return count + length * 1e-6


def _snapshot(paper: Paper) -> list[tuple[list[Item], list[float]]]:
    """Each row of each group, and where its items stand."""
    return [(list(row), [item.x for item in row]) for row in paper.all_rows()]


def _restore(paper: Paper, snapshot: list[tuple[list[Item], list[float]]]) -> None:
    for row, (items, places) in zip(paper.all_rows(), snapshot):
        row[:] = items
        for item, x in zip(items, places):
            item.x = x
    for band in paper.bands:
        band.sort(key=lambda group: extent(group)[0])


def _drawn(paper: Paper) -> Layout:
    left = min(extent(group)[0] for group in paper.groups()) - MARGIN
    right = max(extent(group)[1] for group in paper.groups()) + MARGIN
    heights = _heights(paper)
    tops = _tops(paper, heights)
    frames = []
    for group in paper.groups():
        if group.frame is not None:
            start, end = extent(group)
            first, last = group.seen_rows[0], group.seen_rows[-1]
            top, bottom = tops[first] - FRAME, tops[last] + heights[last] + FRAME
            frames.append(PlacedFrame(group.frame, start - left, top, end - start, bottom - top))
    items = [
        Placed(item, item.x - item.width / 2 - left, tops[item.row] + (heights[item.row] - item.height) / 2)
        for item in paper.all_items()
    ]
    return Layout(right - left, tops[-1], tuple(items), tuple(frames), tuple(_paths(paper, tops, heights, left)))


def _heights(paper: Paper) -> list[float]:
    heights = [0.0] * paper.rows
    for item in paper.all_items():
        heights[item.row] = max(heights[item.row], item.height)
    for group in paper.groups():
        if group.frame is not None:
            rows = group.seen_rows
            lack = group.least_height - sum(heights[row] for row in rows) - _ROW * (len(rows) - 1)
            for row in rows:
                heights[row] += max(0.0, lack / len(rows))
    return heights


def _tops(paper: Paper, heights: Sequence[float]) -> list[float]:
    """The top of each row, and the bottom of the paper. There is more room where wires go far to a side."""
    far = [0.0] * paper.rows
    for upper, lower in paper.links():
        far[upper.row] = max(far[upper.row], abs(upper.anchor(lower) - lower.anchor(upper)))
    tops = [MARGIN + (FRAME if paper.has_frames(0) else 0)]
    for row, height in enumerate(heights[:-1]):
        room = min(_MOST_ROW, _ROW + far[row] * _STEEP)
        tops.append(tops[-1] + height + room + sum(paper.padding(row)))
    return [*tops, tops[-1] + heights[-1] + MARGIN + (FRAME if paper.has_frames(len(paper.bands) - 1) else 0)]


def _paths(paper: Paper, tops: Sequence[float], heights: Sequence[float], left: float) -> Iterator[Path]:
    for upper, lower in paper.links():
        start = tops[upper.row] + (heights[upper.row] + upper.height) / 2
        end = tops[lower.row] + (heights[lower.row] - lower.height) / 2
        below, above = paper.padding(upper.row)
        bend = (tops[upper.row] + heights[upper.row] + below, tops[lower.row] - above)
        yield Path(
            (upper.anchor(lower) - left, start), bend, (lower.anchor(upper) - left, end), arrow=lower.box is not None
        )
