"""CSV rows: a file with a heading, row by row, each with its place; what cannot be read is refused."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ops import WrongUse

Row = Mapping[str, "str | None"]


def csv_rows(path: Path, check: Callable[[Sequence[str], str], None]) -> Iterator[tuple[str, Row]]:
    """Where a row is ("file:line"), and its values by column.

    check: given the columns, and where their heading is; it refuses those that are not wanted.
    Errors: WrongUse, also for a file without rows.
    """
    empty = True
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            names, where = reader.fieldnames or (), f"{path}:1"
            if len(names) == 1 and not {";", "\t"}.isdisjoint(names[0]):
                raise WrongUse(f"the heading is one column, {names[0]!r}", where=where, fix="separate by commas")
            check(names, where)
            for row in reader:
                empty = False
                yield f"{path}:{reader.line_num}", row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongUse(f"{path} cannot be read: {error}", fix="name a CSV file, in UTF-8") from error
    if empty:
        raise WrongUse("there is nothing below the heading", where=str(path), fix="write a line for each, there")


def cell(row: Row, column: str) -> str:
    """The text of a column; empty where the row ends before it."""
    return (row.get(column) or "").strip()
