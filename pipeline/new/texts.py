"""Texts: which input of a text model takes which output of Tokenize."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .look import Entry


class Roles(NamedTuple):
    """The name of the input for each output of Tokenize; "" where there is none."""

    ids: str
    mask: str
    type_ids: str


_ROLES = (  # the first that fits; ids last: `token_type_ids` has them, too
    ("type_ids", re.compile(r"type|segment", re.IGNORECASE)),
    ("mask", re.compile(r"mask", re.IGNORECASE)),
    ("ids", re.compile(r"ids?\b|_ids?|token|text|input", re.IGNORECASE)),
)


def roles_of(inputs: Sequence[Entry]) -> Roles | None:
    """None where an input is no ids, or has no role, or two have one, or they are not of one spec."""
    found = dict.fromkeys(Roles._fields, "")
    for entry in inputs:
        role = next((role for role, pattern in _ROLES if pattern.search(entry.name)), "")
        if not entry.is_ids or not role or found[role]:
            return None
        found[role] = entry.name
    return Roles(**found) if found["ids"] and len({entry.spec for entry in inputs}) == 1 else None
