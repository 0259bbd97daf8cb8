"""An answer, for people and for programs."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .graph import GraphOutput

MOST_ROWS = 20
WIDTH = 78  # of an array: an 80 column terminal holds it


def to_json(answer: dict[str, Any]) -> dict[str, Any]:
    """Outputs by name; bytes as text (base64 where they are none), numbers that JSON lacks as null."""
    return {name: _plain(value.tolist() if isinstance(value, np.ndarray) else value) for name, value in answer.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def answer_table(answer: dict[str, Any], outputs: Sequence[GraphOutput]) -> RenderableType:
    """Outputs that count the same things stand side by side, one line a thing; others each on its own."""
    parts: list[RenderableType] = []
    counted: dict[str, list[GraphOutput]] = {}
    for output in outputs:
        if output.spec.shape and output.spec.counted and output.spec.counted[0] == output.spec.shape[0]:
            counted.setdefault(output.spec.counted[0].name, []).append(output)
        else:
            parts.append(_single(output.name, answer[output.name]))
    for name, columns in counted.items():
        parts.append(_side_by_side(name, columns, answer))
    return Group(*parts)


def _single(name: str, value: Any) -> Text:
    if not isinstance(value, np.ndarray):
        return Text(f"{name}  {_plain(value)}")
    shape = ",".join(map(str, value.shape))
    if value.dtype == object:
        words = [str(_plain(item)) for item in value.flat[:MOST_ROWS]]
        more = f" ... and {value.size - MOST_ROWS} more" if value.size > MOST_ROWS else ""
        return Text(f"{name}  bytes[{shape}]\n[{', '.join(words)}]{more}")
    text = np.array2string(value, precision=4, threshold=40, edgeitems=4, max_line_width=WIDTH)
    return Text(f"{name}  {value.dtype}[{shape}]\n{text}")


def _side_by_side(name: str, outputs: Sequence[GraphOutput], answer: dict[str, Any]) -> RenderableType:
    count = len(answer[outputs[0].name])
    if not count:
        return Text(f"0 {name}")
    table = Table(box=None, pad_edge=False)
    for output in outputs:
        table.add_column(output.name, justify="right")
    columns = (_texts(answer[output.name]) for output in outputs)
    for row in zip(*columns):
        table.add_row(*map(Text, row))
    more = [Text(f"... and {count - MOST_ROWS} more (--json shows all)")] if count > MOST_ROWS else []
    return Group(Text(f"{count} {name}"), table, *more)


def _texts(column: Any) -> list[str]:
    """One for each row that is shown; the numbers of a box stand below each other."""
    form = _form(column)
    rows = [
        [_cell(item, form) for item in (row.flat if isinstance(row, np.ndarray) else (row,))]
        for row in column[:MOST_ROWS]
    ]
    widths = [max(map(len, place)) if column.dtype.kind in "fiu" else 0 for place in zip(*rows)]
    return [" ".join(map(str.rjust, row, widths)) for row in rows]


def _form(column: Any) -> str:
    """How its numbers are written: scores with three decimals, coordinates with one."""
    if column.dtype.kind != "f":
        return ""
    return ".3f" if np.abs(column).max(initial=0) <= 1 else ".1f"


def _cell(value: Any, form: str) -> str:
    return format(value, form) if form else str(_plain(value))
