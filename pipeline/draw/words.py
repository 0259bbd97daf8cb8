"""Words: how wide a text is at most, whichever font shows it, and how a long one is cut."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

# In parts of the font's size, as wide as in the widest of the usual fonts (Verdana, DejaVu Sans).
_WIDTHS = {
    **dict.fromkeys("iljI.,:;'|! ", 0.4),
    **dict.fromkeys('frt()[]{}/\\"-`', 0.5),
    **dict.fromkeys("mwMW@%", 1.0),
}
_LOWER, _OTHER, _WIDE = 0.65, 0.8, 1.05
_MONO = 0.61
_BOLD = 1.1


def width(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """In pixels, at most. size: of the font.

    >>> width("ab", 10), width("中", 10) > width("M", 10)
    (13.0, True)
    """
    total = 0.0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            total += _WIDE
        elif mono:
            total += _MONO
        else:
            total += _WIDTHS.get(letter, _LOWER if letter.islower() or letter.isdigit() else _OTHER)
    return total * size * (_BOLD if bold and not mono else 1.0)


def cut(text: str, most: int) -> str:
    """With its middle left out, where it is longer than so many letters.

    >>> cut("a_very_long_name", 9)
    'a_ve…name'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"


def folded(text: str, most: int) -> Iterator[str]:
    """In lines of about so many letters, each but the last to a comma.

    >>> list(folded("gears 1,2,4,8", 9))
    ['gears 1,2,', '4,8']
    """
    line = ""
    for part in text.split(","):
        if line and len(line) + len(part) > most:
            yield line
            line = ""
        line += f"{part},"
    yield line.removesuffix(",")
