"""The near miss: what somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """A fix that names the likely one, and otherwise all there are.

    >>> near("imagez", ["images", "mask"])
    "did you mean 'images'?"
    >>> near("zzz", ["images", "mask"])
    'use one of images, mask'
    """
    choices = sorted(known)
    found = difflib.get_close_matches(name, choices, n=1)
    if found:
        return f"did you mean '{found[0]}'?"
    return f"use one of {', '.join(choices)}" if choices else "there is none to choose from"
