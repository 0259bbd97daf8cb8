"""HTML: tables and parts of a page, with every text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple, Union


class Html(str):
    """What is HTML already."""

    __slots__ = ()


Cell = Union[str, Html]
_WHOLE = re.compile(r"(?<![\w.-])(?:-?\d[\d.,]*e[-+]\d+|-\.?\d[\d.,]*|--?[a-z][a-z-]*)(?!\w)")


class Column(NamedTuple):
    """look: "text", "number" (on the right, digits of one width), "code", or "long", which may take several lines; or
    "spare", which is left out on a phone: other columns say nearly as much. Also two of them.
    """

    heading: str
    look: str = "text"


def safe(text: Cell) -> Html:
    """As it may stand in a page."""
    return text if isinstance(text, Html) else Html(escape(text))


def prose(text: Cell) -> Html:
    """Text that may take several lines, but not within a number or an option: a browser would break 1e-6 and --fix.

    >>> prose("within 1e-6")
    'within <span class="whole">1e-6</span>'
    """
    whole = safe(text)
    return whole if isinstance(text, Html) else Html(_WHOLE.sub(r'<span class="whole">\g<0></span>', whole))


def element(name: str, content: Cell, look: str = "") -> Html:
    """An element; look: its class."""
    attributes = f' class="{escape(look)}"' if look else ""
    return Html(f"<{name}{attributes}>{safe(content)}</{name}>")


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], caption: str = "") -> Html:
    """In a box of its own, which scrolls where the page is narrower. A row of one cell is a heading among the rows."""
    head = "".join(f'<th scope="col" class="{look}">{safe(name)}</th>' for name, look in columns)
    body = []
    for row in rows:
        if len(row) == 1 < len(columns):
            body.append(f'<tr class="part"><th scope="rowgroup" colspan="{len(columns)}">{safe(row[0])}</th></tr>')
        else:
            texts = (prose(cell) if column.look == "long" else safe(cell) for column, cell in zip(columns, row))
            cells = "".join(f'<td class="{column.look}">{text}</td>' for column, text in zip(columns, texts))
            body.append(f"<tr>{cells}</tr>")
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return joined((element("p", caption, "caption") if caption else "", wide(Html(whole))))


def wide(content: Html) -> Html:
    """What may be wider than the page."""
    return Html(f'<div class="wide" tabindex="0">{content}</div>')


def joined(parts: Iterable[Cell]) -> Html:
    """One behind the other."""
    return Html("".join(map(safe, parts)))
