"""The near miss: what somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST = 20  # names in one message


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like it, if one is.

    >>> nearest("Imagez", ["images", "mask"])
    'images'
    """
    lower = {other.lower(): other for other in known}
    found = difflib.get_close_matches(name.lower(), lower, n=1)
    return lower[found[0]] if found else None


def near(name: str, known: Iterable[str]) -> str:
    """A fix that names the likely one, and otherwise all there are.

    >>> near("imagez", ["images", "mask"])
    "did you mean 'images'?"
    >>> near("zzz", ["images", "mask"])
    'use one of images, mask'
    """
    choices = sorted(known)
    found = nearest(name, choices)
    if found is not None:
        return f"did you mean '{found}'?"
    if not choices:
        return "there is none to choose from"
    if len(choices) == 1:
        return f"use {choices[0]}"
    more = f" and {len(choices) - _MOST} more" if len(choices) > _MOST else ""
    return f"use one of {', '.join(choices[:_MOST])}{more}"
