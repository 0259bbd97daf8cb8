"""SVG: a drawing as a picture of its own, light or dark as its reader's screen is; nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from .colours import DARK, LIGHT, variables
from .drawing import Drawing
from .layout import Layout, Path, Placed, PlacedFrame, layout
from .paper import BOX_TOP, FRAME, LINE, LONGEST, MONO, NAME, SMALL, TITLE, told
from .words import cut

_STYLE = f"""
.gepipe{{--paper:#ffffff;--ink:#1b2430;--soft:#566172;--line:#7d8797;--box:#ffffff;--edge:#c3cad5;
--time:#0b6b4f;{variables(LIGHT)}}}
@media (prefers-color-scheme:dark){{.gepipe{{--paper:#14181f;--ink:#e8ecf2;--soft:#a6b0bf;--line:#8994a5;--box:#1d232d;
--edge:#475162;--time:#6fd3ae;{variables(DARK)}}}}}
.gepipe text{{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC",
"Microsoft YaHei",sans-serif;font-size:{NAME}px;fill:var(--ink)}}
.gepipe .paper{{fill:var(--paper)}}
.gepipe .title{{font-size:{TITLE}px;font-weight:600}}
.gepipe .name{{fill:var(--soft)}}
.gepipe .small{{font-size:{SMALL}px;fill:var(--soft)}}
.gepipe .time{{font-size:{SMALL}px;fill:var(--time);font-weight:600}}
.gepipe .mono{{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:{MONO}px}}
.gepipe .box{{fill:var(--box);stroke:var(--edge)}}
.gepipe .host{{fill:var(--host);stroke:var(--host-edge)}}
.gepipe .device{{fill:var(--device);stroke:var(--device-edge)}}
.gepipe .constant{{stroke-dasharray:4 3}}
.gepipe .wire{{fill:none;stroke:var(--line);stroke-width:1.5;stroke-linecap:round}}
.gepipe .tip{{fill:var(--line)}}
"""
_TIP = 6.0


def svg(drawing: Drawing) -> str:
    """A whole SVG document."""
    return "\n".join(_lines(drawing, layout(drawing))) + "\n"


def _lines(drawing: Drawing, placed: Layout) -> Iterator[str]:
    id = re.sub(r"\W", "-", drawing.title, flags=re.ASCII)
    width, height = round(placed.width), round(placed.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gepipe" role="img" aria-labelledby="{id}-title {id}-desc" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    )
    yield f'<title id="{id}-title">{_safe(drawing.title)}</title>'
    yield f'<desc id="{id}-desc">{_safe(drawing.summary)}</desc>'
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="paper" width="{width}" height="{height}"/>'
    for frame in placed.frames:
        yield from _frame(frame)
    for path in placed.paths:
        yield from _path(path)
    for item in placed.items:
        yield from _box(item) if item.item.box is not None else _label(item)
    yield "</svg>"


def _frame(placed: PlacedFrame) -> Iterator[str]:
    frame = placed.frame
    kind = "device" if frame.placement == "device" else "host"
    yield f"<g><title>{_safe(', '.join((f'stage {frame.name}', *frame.lines)))}</title>"
    yield f'<rect class="{kind}" {_rect(placed.x, placed.y, placed.width, placed.height)} rx="10"/>'
    x, y = placed.x + FRAME, placed.y + FRAME + 12
    yield _text(x, y, cut(frame.name, LONGEST), "title", "start")
    for index, line in enumerate(told(frame), 1):
        yield _text(x, y + index * LINE, line, "time" if line.endswith(" a run") else "small", "start")
    yield "</g>"


def _box(placed: Placed) -> Iterator[str]:
    item = placed.item
    box = item.box
    assert box is not None
    hint = " ".join(filter(None, (box.title, f"'{box.name}'", box.hint)))
    rounded = item.height / 2 if box.kind in ("input", "output") else 6
    look = {"constant": "box constant", "host": "host" if not box.frame else "box"}.get(box.kind, "box")
    if box.kind == "device" and not box.frame:
        look = "device"
    yield f"<g><title>{_safe(hint)}</title>"
    yield f'<rect class="{look}" {_rect(placed.x, placed.y, item.width, item.height)} rx="{rounded:g}"/>'
    y = placed.y + BOX_TOP - 4
    for line, style in ((box.title, "title"), (box.name, "name"), (box.time, "time")):
        if line:
            y += LINE
            yield _text(placed.x + item.width / 2, y, cut(line, LONGEST), style if box.title else "")
    yield "</g>"


def _label(placed: Placed) -> Iterator[str]:
    item = placed.item
    y = placed.y - 3
    for index, line in enumerate(item.lines):
        y += 15
        yield _text(placed.x + item.width / 2, y, line, "small" if index else "mono")


def _path(path: Path) -> Iterator[str]:
    (x, y), (end_x, end_y), (bow, straight) = path.start, path.end, path.bend
    stop = end_y - _TIP if path.arrow else end_y
    straight = min(straight, stop)  # the tip comes straight down
    middle = (bow + straight) / 2
    curve = f"C{x:.1f} {middle:.1f} {end_x:.1f} {middle:.1f} {end_x:.1f} {straight:.1f}"
    yield f'<path class="wire" d="M{x:.1f} {y:.1f}V{bow:.1f}{curve}V{stop:.1f}"/>'
    if path.arrow:
        tip = f"M{end_x:.1f} {end_y:.1f}l-4 -{_TIP + 1:g}h8z"
        yield f'<path class="tip" d="{tip}"/>'


def _rect(x: float, y: float, width: float, height: float) -> str:
    return f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'


def _text(x: float, y: float, words: str, style: str, anchor: str = "middle") -> str:
    look = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{look} text-anchor={quoteattr(anchor)}>{_safe(words)}</text>'


def _safe(words: str) -> str:
    """Escaped, and without what XML does not hold at all."""
    return escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", "\ufffd", words))
