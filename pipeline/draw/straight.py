"""Straight: what follows one by one, as far as the neighbours let it, stands exactly in line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .paper import FRAME, GAP, Group, Item, Paper, extent

_ROUNDS = 6
_INFINITE = float("inf")
Room = tuple[float, float]


def straighten(paper: Paper) -> None:
    """Move chains sideways until they are straight, and nearest to what they hang on. Nobody else is moved."""
    chains = list(_chains(paper))
    for turn in range(_ROUNDS):
        for chain in chains if turn % 2 == 0 else reversed(chains):
            for part, room in _movable(paper, chain):
                _align(part, room)


def _chains(paper: Paper) -> Iterator[list[Item]]:
    """Every item, in the longest chains of such as have each other alone."""
    for item in paper.all_items():
        if _only_up(item) is None:
            chain = [item]
            while (lower := _only_down(chain[-1])) is not None:
                chain.append(lower)
            yield chain


def _only_down(item: Item) -> Item | None:
    return item.downs[0] if len(item.downs) == 1 and len(item.downs[0].ups) == 1 else None


def _only_up(item: Item) -> Item | None:
    return item.ups[0] if len(item.ups) == 1 and len(item.ups[0].downs) == 1 else None


def _movable(paper: Paper, chain: Sequence[Item]) -> Iterator[tuple[list[Item], Room]]:
    """Its parts that can stand in one line, and where that may be."""
    part: list[Item] = []
    room = (-_INFINITE, _INFINITE)
    for item in chain:
        low, high = _room(paper, item)
        both = (max(room[0], low), min(room[1], high))
        if part and both[0] > both[1]:
            yield part, room
            part, both = [], (low, high)
        part.append(item)
        room = both
    yield part, room


def _room(paper: Paper, item: Item) -> Room:
    """How far its middle can go: to its neighbours in the row, and its group to its neighbours in the band."""
    group, band = paper.group_of(item), paper.bands[paper.band_of(item.row)]
    low, high = -_INFINITE, _INFINITE
    row = group.rows[item.row]
    place = row.index(item)
    if place:
        before = row[place - 1]
        low = before.x + (before.width + item.width) / 2 + GAP
    if place + 1 < len(row):
        after = row[place + 1]
        high = after.x - (after.width + item.width) / 2 - GAP
    place = band.index(group)
    frame, gutter = _frame(group)
    if place:
        low = max(low, extent(band[place - 1])[1] + GAP + frame + gutter + item.width / 2)
    if place + 1 < len(band):
        high = min(high, extent(band[place + 1])[0] - GAP - frame - item.width / 2)
    return min(low, item.x), max(high, item.x)  # where it is it may stay


def _frame(group: Group) -> tuple[float, float]:
    return (FRAME, group.gutter) if group.frame is not None else (0.0, 0.0)


def _align(part: Sequence[Item], room: Room) -> None:
    """Where the wires at both ends are shortest; of equal places the one nearest to the middle of what they lead to."""
    top, bottom = part[0], part[-1]
    ends = [other.anchor(top) - top.anchor(other) + top.x for other in top.ups]
    ends += [other.anchor(bottom) - bottom.anchor(other) + bottom.x for other in bottom.downs]
    mean = sum(ends) / len(ends) if ends else sum(item.x for item in part) / len(part)
    places = [min(max(x, room[0]), room[1]) for x in (mean, *ends)]
    best = min(places, key=lambda x: (round(sum(abs(end - x) for end in ends), 3), abs(x - mean)))
    for item in part:
        item.x = best
