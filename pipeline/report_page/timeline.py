"""Timeline: a trace as a picture, a lane for each stream and thread, time from left to right.

It is as wide as the page, whatever that is: all places are shares of its width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from ..draw.words import width
from ..profile.parts import QUEUE, REQUEST
from .html import Html, element, joined
from .plots import number, ticks

Kind = Literal["host", "device", "copy", "wait", "request", "failed"]
_KINDS: Mapping[str, Kind] = {
    REQUEST.node: "request", QUEUE.node: "wait", "wait for a stream": "wait", "compute": "device",
}  # fmt: skip
_LEGEND: Mapping[Kind, str] = {
    "host": "step on the host",
    "device": "run on the device",
    "copy": "copy or check",
    "wait": "wait",
    "request": "whole request",
    "failed": "failed",
}
_LANE, _DEPTH, _GAP = 22, 3, 2  # pixels, levels, pixels
_TICKS = 6
_WIDEST = 1000.0  # pixels; where a name has no room in this, it has none anywhere
_LAST = 0.88  # of the width: from here on there is no room for what stands at a tick
_APART = 0.006  # of the width: from here on a slice is told from the next
MOST_SLICES = 600  # of a picture that a browser likes to show


@dataclass(frozen=True)
class Slice:
    """Something that took its time; in microseconds. depth: in how many others it is."""

    name: str
    kind: Kind
    begin: float
    end: float
    depth: int = 0
    hint: str = ""


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
        args = event.get("args", {})
        hint = ", ".join(f"{name} {value}" for name, value in args.items() if name != "node")
        yield Slice(event["name"], _kind(event["name"], args), begin, end, len(open_ends), hint)
        open_ends.append(end)


def _kind(name: str, args: Mapping[str, Any]) -> Kind:
    """As session.trace tells of it: a step has its node, a run its stage."""
    if "error" in args:
        return "failed"
    if "node" in args:
        return "host"
    return "device" if "stage" in args else _KINDS.get(name, "copy")


def first_slices(lanes: Sequence[Lane], most: int = MOST_SLICES) -> tuple[list[Lane], bool]:
    """The begin of a trace, so many slices; and whether that is less than all."""
    begins = sorted(slice.begin for lane in lanes for slice in lane.slices)
    if len(begins) <= most:
        return list(lanes), False
    limit = begins[most]
    kept = [Lane(lane.name, tuple(one for one in lane.slices if one.begin < limit)) for lane in lanes]
    return [lane for lane in kept if lane.slices], True


def legend(lanes: Sequence[Lane]) -> Html:
    """Which colour is what."""
    seen = {one.kind for lane in lanes for one in lane.slices}
    return swatches((kind, text) for kind, text in _LEGEND.items() if kind in seen)


def swatches(kinds: Iterable[tuple[str, str]]) -> Html:
    """A spot of each colour, with its meaning."""
    spots = (f'<span><span class="swatch {kind}"></span>{escape(text)}</span>' for kind, text in kinds)
    return Html(f'<p class="legend">{"".join(spots)}</p>')


def timeline(lanes: Sequence[Lane]) -> Html:
    """The picture. A colour is a kind of work; a name stands in its slice where there is room."""
    slices = [one for lane in lanes for one in lane.slices]
    begin, end = min(one.begin for one in slices), max(one.end for one in slices)
    span = max(end - begin, 1e-3)
    marks = list(ticks(span, _TICKS))
    grid = "".join(f'<i class="tick" style="left:{mark / span:.2%}"></i>' for mark in marks)
    rows = [joined((element("div", lane.name, "lane"), _track(lane, begin, span, grid))) for lane in lanes]
    title = f"{len(lanes)} lanes, {_time(span, span)} from left to right"
    axis = "".join(
        f'<span style="left:{mark / span:.2%}">{_time(mark, span)}</span>' for mark in marks if mark < _LAST * span
    )
    return Html(
        f'<div class="timeline" role="img" aria-label="{escape(title)}">{joined(rows)}'
        f'<div class="lane"></div><div class="axis">{axis}</div></div>'
    )


def _track(lane: Lane, begin: float, span: float, grid: str) -> Html:
    depths = min(_DEPTH, 1 + max(one.depth for one in lane.slices))
    parts = (_slice(one, (one.begin - begin) / span, (one.end - one.begin) / span) for one in lane.slices)
    return Html(f'<div class="track" style="height:{depths * _LANE - _GAP}px">{grid}{"".join(parts)}</div>')


def _slice(one: Slice, left: float, share: float) -> str:
    """The empty element is for CSS: a name that has no room beside it goes to the next line, which is not seen."""
    if one.depth >= _DEPTH:
        return ""
    hint = f"{one.name}: {_time(one.end - one.begin, 0)}" + (f"; {one.hint}" if one.hint else "")
    text = f"<i></i><b>{escape(one.name)}</b>" if width(one.name, 11) <= share * _WIDEST else ""
    place = f"left:{left:.3%};width:{share:.3%};top:{one.depth * _LANE}px"
    look = f"slice {one.kind}{' apart' if share > _APART else ''}"
    return f'<div class="{look}" style="{place}" title="{escape(hint)}">{text}</div>'


def _time(us: float, span: float) -> str:
    return f"{number(us / 1e3)} ms" if max(us, span) >= 1000 else f"{number(us)} µs"
