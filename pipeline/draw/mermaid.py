"""Mermaid: a drawing as text that GitHub and GitLab show as a picture."""

from __future__ import annotations

from collections.abc import Iterator

from .colours import LIGHT
from .drawing import Box, Drawing

_STYLES = {  # with the text's, so that they are readable on any paper
    "host": f"fill:{LIGHT['host']},stroke:{LIGHT['host-edge']},color:#1c2733",
    "device": f"fill:{LIGHT['device']},stroke:{LIGHT['device-edge']},color:#1c2733",
    "edge": "fill:#f2f3f5,stroke:#8b94a3,color:#1c2733",
}
_CLASS = {"host": "host", "device": "device"}
_ENTITIES = {
    '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "#": "#35;", "`": "#96;", "\n": " ", "\r": " ",
}  # fmt: skip


def mermaid(drawing: Drawing) -> str:
    """A flowchart, from top to bottom; stages are subgraphs."""
    return "\n".join(_lines(drawing)) + "\n"


def _lines(drawing: Drawing) -> Iterator[str]:
    ids = {box.id: f"n{index}" for index, box in enumerate(drawing.boxes)}
    yield "flowchart TD"
    yield f"    accTitle: {_plain(drawing.title)}"
    yield f"    accDescr: {_plain(drawing.summary)}"
    for box in drawing.boxes:
        if not box.frame:
            yield f"    {_node(box, ids[box.id])}"
    for index, frame in enumerate(drawing.frames):
        yield f'    subgraph s{index}["{text(", ".join((frame.name, *frame.lines)))}"]'
        yield from (f"        {_node(box, ids[box.id])}" for box in drawing.boxes if box.frame == frame.name)
        yield "    end"
    frame_of = {box.id: (box.frame, box.band) for box in drawing.boxes}
    for wire in drawing.wires:
        for target in wire.targets:
            crosses = frame_of[wire.source] != frame_of[target]
            label = _lines_of(wire.label, wire.nbytes if crosses else "")
            yield f'    {ids[wire.source]} -->|"{label}"| {ids[target]}'
    yield from (f"    classDef {name} {style}" for name, style in _STYLES.items())
    for name in _STYLES:
        members = [ids[box.id] for box in drawing.boxes if _CLASS.get(box.kind, "edge") == name]
        if members:
            yield f"    class {','.join(members)} {name}"
    for index, frame in enumerate(drawing.frames):
        kind = "device" if frame.placement == "device" else "host"
        yield f"    style s{index} fill:none,stroke:{LIGHT[f'{kind}-edge']}"


def _node(box: Box, id: str) -> str:
    words = _lines_of(box.title, box.name, box.time)
    return f'{id}(["{words}"])' if box.kind in ("input", "output") else f'{id}["{words}"]'


def _lines_of(*lines: str) -> str:
    return "<br>".join(text(line) for line in lines if line)


def text(words: str) -> str:
    """As a quoted label holds it: what Mermaid, its Markdown or HTML would read is an entity.

    >>> text('a "b" <c>')
    'a #quot;b#quot; #lt;c#gt;'
    """
    return "".join(_ENTITIES.get(letter, letter) for letter in words)


def _plain(words: str) -> str:
    """For accTitle and accDescr, which end with the line and know no entities."""
    return " ".join(words.replace(";", ",").replace("#", " ").split())
