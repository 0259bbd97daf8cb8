"""The command `gepipe rule`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import WrongUse
from ops.near import near

from .command import AsJson, Debug, app, errors, new_table, out, print_json
from .rulebook import BOOK


@app.command()
def rule(
    rule_id: Annotated[Optional[str], typer.Argument(metavar="RULE", help="As G04; without it, all of them.")] = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Explain a rule: why it is there, a bad line and a good one."""
    with errors(debug):
        if rule_id is not None and rule_id.upper() not in BOOK:
            raise WrongUse(f"there is no rule {rule_id}", fix=near(rule_id.upper(), BOOK))
        chosen = list(BOOK.values()) if rule_id is None else [BOOK[rule_id.upper()]]
        if as_json:
            print_json({"rules": [vars(item) for item in chosen]})
        elif rule_id is None:
            table = new_table("rule", "what it asks")
            for item in chosen:
                table.add_row(item.id, Text(item.title))
            out.print(table)
        else:
            (item,) = chosen
            out.print(Text(f"{item.id}  {item.title}\n\n{item.why}"))
            for what, code in (("bad", item.bad), ("good", item.good)):
                lines = code.replace("\n", "\n    ")
                out.print(Text(f"\n{what}:\n    {lines}"), soft_wrap=True)
