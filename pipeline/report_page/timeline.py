"""Timeline: a trace as a picture, a lane for each stream and thread, time from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..draw.words import width
from .plots import number, ticks

_LANE, _DEPTH, _GAP = 22.0, 3, 10.0
_TOP, _AXIS = 6.0, 26.0
_LEAST, _MOST = 640.0, 2400.0  # pixels, of all of it
_FINEST = 14.0  # pixels, of a slice in the middle
MOST_SLICES = 600  # of a picture that a browser likes to show
COLOURS = 8


@dataclass(frozen=True)
class Slice:
    """Something that took its time; in microseconds. depth: in how many others it is."""

    name: str
    begin: float
    end: float
    depth: int
    hint: str


@dataclass(frozen=True)
class Lane:
    """What happened on a stream or a thread, one after the other."""

    name: str
    slices: tuple[Slice, ...]


def lanes_of(document: Mapping[str, Any]) -> list[Lane]:
    """The lanes of a trace, in its own order; those without a slice are left out."""
    names: dict[int, str] = {}
    found: dict[int, list[dict[str, Any]]] = {}
    for event in document["traceEvents"]:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            names[event["tid"]] = str(event["args"]["name"])
        elif event.get("ph") == "X":
            found.setdefault(event["tid"], []).append(event)
    return [Lane(names.get(lane, str(lane)), tuple(_nested(found[lane]))) for lane in sorted(found)]


def _nested(events: Sequence[dict[str, Any]]) -> Iterator[Slice]:
    open_ends: list[float] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        begin, end = float(event["ts"]), float(event["ts"]) + float(event["dur"])
        while open_ends and begin >= open_ends[-1] - 1e-3:
            open_ends.pop()
        args = ", ".join(f"{name} {value}" for name, value in event.get("args", {}).items() if name != "node")
        yield Slice(event["name"], begin, end, len(open_ends), args)
        open_ends.append(end)


def first_slices(lanes: Sequence[Lane], most: int = MOST_SLICES) -> tuple[list[Lane], bool]:
    """The begin of a trace, so many slices; and whether that is less than all."""
    begins = sorted(slice.begin for lane in lanes for slice in lane.slices)
    if len(begins) <= most:
        return list(lanes), False
    limit = begins[most]
    kept = [Lane(lane.name, tuple(one for one in lane.slices if one.begin < limit)) for lane in lanes]
    return [lane for lane in kept if lane.slices], True


def colours_of(lanes: Sequence[Lane]) -> dict[str, int]:
    """For each name of a slice, the number of its colour."""
    names = dict.fromkeys(one.name for lane in lanes for one in lane.slices)
    return {name: index % COLOURS for index, name in enumerate(names)}


def legend(lanes: Sequence[Lane]) -> str:
    """Which colour is which name."""
    names = (
        f'<span><span class="swatch k{colour}"></span>{escape(name)}</span>'
        for name, colour in colours_of(lanes).items()
    )
    return f'<p class="legend">{"".join(names)}</p>'


def timeline(lanes: Sequence[Lane], title: str) -> str:
    """The picture. Slices of one name have one colour; a name stands in its slice where there is room."""
    slices = [one for lane in lanes for one in lane.slices]
    begin, end = min(one.begin for one in slices), max(one.end for one in slices)
    span = max(end - begin, 1e-3)
    left = max(width(lane.name, 12) for lane in lanes) + 16
    lengths = sorted(one.end - one.begin for one in slices)
    wide = min(_MOST, max(_LEAST, left + _FINEST * span / max(lengths[len(lengths) // 2], 1e-3)))
    scale = (wide - left - 16) / span
    colours = colours_of(lanes)
    y, parts = _TOP, []
    for lane in lanes:
        depths = min(_DEPTH, 1 + max(one.depth for one in lane.slices))
        parts.append(f'<text x="{left - 10:.1f}" y="{y + 15:.1f}" text-anchor="end">{escape(lane.name)}</text>')
        for one in lane.slices:
            if one.depth < _DEPTH:
                x = left + (one.begin - begin) * scale
                parts.append(_slice(one, x, y + one.depth * _LANE, (one.end - one.begin) * scale, colours[one.name]))
        y += depths * _LANE + _GAP
    axis = []
    for tick in ticks(span, max(2, int(wide / 160))):
        x = left + tick * scale
        axis.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{y:.1f}"/>')
        axis.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{_time(tick, span)}</text>')
    height = y + _AXIS
    head = (
        f'<svg class="plot timeline" role="img" aria-label="{escape(title)}" width="{wide:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {wide:.0f} {height:.0f}"><title>{escape(title)}</title>'
    )
    return "".join((head, *axis, *parts, "</svg>"))


def _slice(one: Slice, x: float, y: float, wide: float, colour: int) -> str:
    hint = f"{one.name}: {_time(one.end - one.begin, 0)}" + (f"; {one.hint}" if one.hint else "")
    text = ""
    if width(one.name, 11) + 8 <= wide:
        text = f'<text class="in" x="{x + 5:.1f}" y="{y + 14:.1f}">{escape(one.name)}</text>'
    shape = (
        f'<rect class="c{colour}" x="{x:.2f}" y="{y:.1f}" width="{max(wide, 0.6):.2f}" height="{_LANE - 2}" rx="2"/>'
    )
    return f"<g><title>{escape(hint)}</title>{shape}{text}</g>"


def _time(us: float, span: float) -> str:
    return f"{number(us / 1e3)} ms" if max(us, span) >= 1000 else f"{number(us)} µs"
