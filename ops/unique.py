"""A name that nothing else has."""

from __future__ import annotations

from collections.abc import Container


def unique(name: str, taken: Container[str]) -> str:
    """The name, or with a number behind it where it is taken.

    >>> unique("cast", ["cast", "cast_2"])
    'cast_3'
    """
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate
