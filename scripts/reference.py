"""Write the pages of docs/ that are made from the code: python scripts/reference.py

Run it after a docstring, a command, a rule or a message has changed.
"""

from __future__ import annotations

from pathlib import Path

import api_page
import cli_page
import message_page
import ops_table
import rule_pages

DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> dict[str, str]:
    """The text of each, by its path in docs."""
    makers = (rule_pages, cli_page, api_page, message_page)
    return {"ops.md": ops_table.table(), **{path: text for maker in makers for path, text in maker.pages().items()}}


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / path).write_text(text, encoding="utf-8")
