"""Article: a value by its type, as an error names it."""

from __future__ import annotations


def kind(value: object) -> str:
    """Its type with the article.

    >>> kind(3), kind([])
    ('an int', 'a list')
    """
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
