"""Paper: the items of a drawing in rows, groups and bands; what layout moves about, and svg puts in ink."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .drawing import Box, Drawing, Frame, Wire
from .words import cut, folded, width

TITLE, NAME, MONO, SMALL = 14, 12, 11.5, 11  # font sizes
LONGEST = 34  # letters of a name
LINE_LETTERS, MOST_LINES = 16, 6  # of what is said of a stage
BOX_SIDE, BOX_TOP = 12.0, 8.0
LINE = 17.0  # of text
GAP = 18.0  # between neighbours of a row
FRAME = 14.0  # between a frame and what is in it
LANE = 14.0  # the width of a wire that only passes


@dataclass(eq=False)
class Item:
    """A box, a label, or the place where a wire passes a row. x is its middle; ups and downs are its neighbours."""

    width: float
    height: float
    row: int
    box: Box | None = None
    lines: tuple[str, ...] = ()
    hint: str = ""
    x: float = 0.0
    ups: list[Item] = field(default_factory=list)
    downs: list[Item] = field(default_factory=list)

    def anchor(self, other: Item) -> float:
        """Where the wire to a neighbour leaves: a box with several spreads them over its side."""
        side = self.downs if other.row > self.row else self.ups
        if self.box is None or len(side) < 2:
            return self.x
        order = sorted(side, key=lambda item: item.x)
        step = min(26.0, (self.width - 2 * BOX_SIDE) / len(order))
        return self.x + (order.index(other) - (len(order) - 1) / 2) * step


@dataclass(eq=False)
class Group:
    """Items that stand together, apart from others of the band: those of a stage, or of a wire that passes by."""

    frame: Frame | None
    rows: dict[int, list[Item]] = field(default_factory=dict)

    @property
    def gutter(self) -> float:
        """The room on its left for what is said of the stage."""
        if self.frame is None:
            return 0.0
        lines = (width(line, SMALL) for line in told(self.frame))
        return max(width(cut(self.frame.name, LONGEST), TITLE, bold=True), *lines) + 14

    @property
    def least_height(self) -> float:
        """What is said of the stage takes so much, without the frame's own room."""
        return 0.0 if self.frame is None else (1 + len(told(self.frame))) * LINE

    @property
    def seen_rows(self) -> range:
        """From the first to the last in which there is more than a wire."""
        rows = [row for row, items in self.rows.items() if any(item.box or item.lines for item in items)]
        return range(min(rows), max(rows) + 1)

    @property
    def items(self) -> Iterator[Item]:
        for row in self.rows.values():
            yield from row

    def add(self, item: Item) -> Item:
        self.rows.setdefault(item.row, []).append(item)
        return item


def told(frame: Frame) -> list[str]:
    """What is said of a stage, in short lines; of a text that takes too many, its begin."""
    lines = []
    for text in frame.lines:
        parts = list(folded(text, LINE_LETTERS))
        lines += parts if len(parts) <= MOST_LINES else [*parts[: MOST_LINES - 1], "…"]
    return lines


def extent(group: Group) -> tuple[float, float]:
    """Its left and right, with the frame and its gutter."""
    left = min(item.x - item.width / 2 for item in group.items)
    right = max(item.x + item.width / 2 for item in group.items)
    if group.frame is None:
        return left, right
    return left - FRAME - group.gutter, right + FRAME


class Paper:
    """All of it. bands: groups, left to right; every second band is a border: what crosses there, and nothing else."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.items: dict[str, Item] = {}
        self._frames = {frame.name: frame for frame in drawing.frames}
        self._rank = _ranks(drawing)
        numbers = sorted({box.band for box in drawing.boxes})
        self._band = {number: 2 * index for index, number in enumerate(numbers)}
        self._keyed: list[dict[object, Group]] = [{} for _ in range(2 * len(numbers) - 1)]
        self.first: list[int] = []  # row of each band, and after the last of them
        self._number_rows(numbers)
        for box in drawing.boxes:
            self._place(box)
        for wire in drawing.wires:
            for target in wire.targets:
                self._route(wire, target)
        self.bands = [list(band.values()) for band in self._keyed]
        self._group_of = {id(item): group for group in self.groups() for item in group.items}
        self._all_rows = [row for group in self.groups() for row in group.rows.values()]

    @property
    def rows(self) -> int:
        return self.first[-1]

    def groups(self) -> Iterator[Group]:
        for band in self.bands:
            yield from band

    def group_of(self, item: Item) -> Group:
        return self._group_of[id(item)]

    def links(self) -> Iterator[tuple[Item, Item]]:
        """Each piece of a wire: from an item to one of the next row."""
        for item in self.all_items():
            for lower in item.downs:
                yield item, lower

    def all_rows(self) -> list[list[Item]]:
        """Each row of each group, always in the same order, however these are moved about."""
        return self._all_rows

    def all_items(self) -> Iterator[Item]:
        for group in self.groups():
            yield from group.items

    def band_of(self, row: int) -> int:
        return bisect_right(self.first, row) - 1

    def has_frames(self, band: int) -> bool:
        return any(group.frame for group in self.bands[band])

    def padding(self, row: int) -> tuple[float, float]:
        """What frames need below a row, and above the next."""
        band, following = self.band_of(row), self.band_of(row + 1)
        if band == following:
            return 0.0, 0.0
        return FRAME if self.has_frames(band) else 0.0, FRAME if self.has_frames(following) else 0.0

    def _number_rows(self, numbers: Iterable[int]) -> None:
        row = 0
        for index, number in enumerate(numbers):
            if index:
                self.first.append(row)  # the border
                row += 1
            self.first.append(row)
            row += 2 * max(self._rank[box.id] for box in self.drawing.boxes if box.band == number) + 1
        self.first.append(row)

    def _place(self, box: Box) -> None:
        band = self._band[box.band]
        group = self._group(band, box.frame, self._frames.get(box.frame))
        row = self.first[band] + 2 * self._rank[box.id]
        self.items[box.id] = group.add(_boxed(box, row))

    def _group(self, band: int, key: object, frame: Frame | None = None) -> Group:
        return self._keyed[band].setdefault(key, Group(frame))

    def _route(self, wire: Wire, target: str) -> None:
        """From row to row; what two targets share, they share."""
        item, end = self.items[wire.source], self.items[target]
        own, last = self.band_of(item.row), self.band_of(end.row)
        source_box, target_box = item.box, end.box
        assert source_box is not None
        assert target_box is not None
        inside = (source_box.band, source_box.frame) == (target_box.band, target_box.frame)
        for row in range(item.row + 1, end.row):
            band = self.band_of(row)
            key: object = ("lane", wire)
            if band % 2:
                key = "border"
            elif band == own:
                key = source_box.frame
            elif band == last:
                key = target_box.frame
            step = next((down for down in item.downs if down.hint == wire.key and self._in(band, key, down)), None)
            if step is None:
                step = self._group(band, key).add(Item(LANE, 0.0, row, hint=wire.key))
                _join(item, step)
            if band == own + 1:
                _write(step, (wire.label, wire.nbytes))
            elif inside and row == self.items[wire.source].row + 1:
                _write(step, (wire.label,))
            item = step
        _join(item, end)

    def _in(self, band: int, key: object, item: Item) -> bool:
        group = self._keyed[band].get(key)
        return group is not None and item in group.rows.get(item.row, ())


def _join(upper: Item, lower: Item) -> None:
    if lower not in upper.downs:
        upper.downs.append(lower)
        lower.ups.append(upper)


def _write(item: Item, lines: tuple[str, ...]) -> None:
    item.lines = lines
    item.width = (
        max(width(line, MONO if index == 0 else SMALL, mono=index == 0) for index, line in enumerate(lines)) + 12
    )
    item.height = 15.0 * len(lines)


def _boxed(box: Box, row: int) -> Item:
    texts = [
        width(cut(box.title, LONGEST), TITLE, bold=True),
        width(cut(box.name, LONGEST), NAME),
        width(box.time, SMALL),
    ]
    lines = sum(1 for text in (box.title, box.name, box.time) if text)
    return Item(max(*texts, 40) + 2 * BOX_SIDE, lines * LINE + 2 * BOX_TOP, row, box)


def _ranks(drawing: Drawing) -> dict[str, int]:
    """The longest way to each box from the top of its frame; a constant stands just above its first reader."""
    place = {box.id: (box.band, box.frame) for box in drawing.boxes}
    ups: dict[str, list[str]] = {box.id: [] for box in drawing.boxes}
    for wire in drawing.wires:
        for target in wire.targets:
            if place[target] == place[wire.source]:
                ups[target].append(wire.source)
    ranks: dict[str, int] = {}
    for box in drawing.boxes:  # in the order in which they run, constants first
        ranks[box.id] = max((ranks[up] + 1 for up in ups[box.id]), default=0)
    for box in drawing.boxes:
        if box.kind == "constant":
            ranks[box.id] = min(ranks[id] for id, above in ups.items() if box.id in above) - 1
    return ranks
