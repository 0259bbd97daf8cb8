"""Text to words, as BERT cuts it: spaces, ideographs, punctuation; in lower case without accents if wanted.

It does what BertNormalizer and BertPreTokenizer of tokenizers 0.23.3 do, by tables taken from them: unicodedata would
answer otherwise in each Python.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from . import unicode_tables as tables

_HANGUL = range(0xAC00, 0xD7A4)
_REMEMBERED = 0x10000  # the planes above this one are rare, and remembering all of them would take 200 MB


def words(text: str, lowercase: bool) -> list[str]:
    """The words of a text, cleaned.

    >>> words("Ünïcode 杰尼龟, 2.0", lowercase=True)
    ['unicode', '杰', '尼', '龟', ',', '2', '.', '0']
    """
    table = _table(lowercase)
    if not text.isascii() and not table.sortable.isdisjoint(text):
        return _in_canonical_order(text, table).split()
    return text.translate(table).split()


class _Table(dict[int, str]):
    """What each code point becomes, with a space on both sides of what is a word of its own; filled as met."""

    def __init__(self, lowercase: bool) -> None:
        super().__init__()
        self._dropped = _edges(tables.DROPPED)
        self._spaces = _edges(tables.SPACES)
        self._alone = _edges(tables.IDEOGRAPHS)
        self._punctuation = _edges(tables.PUNCTUATION)
        self._lowercase = lowercase
        self._marks = _edges(f"{tables.MARKS} {tables.FENCES}")
        self.fences = _edges(tables.FENCES)
        self._mapped = _mapping() if lowercase else {}
        rows = tables.REORDERED if lowercase else ()
        self.ranks = {chr(point): rank for rank, row in enumerate(rows) for point in _points(row)}
        self.sortable = {chr(point) for point, value in self._mapped.items() if not self.ranks.keys().isdisjoint(value)}
        self.sortable.update(self.ranks)

    def __missing__(self, point: int) -> str:
        value = self._value(point)
        if point < _REMEMBERED:
            self[point] = value
        return value

    def _value(self, point: int) -> str:
        if _within(point, self._dropped) or (self._lowercase and _within(point, self._marks)):
            return ""
        if _within(point, self._spaces):
            return " "
        value = self._mapped.get(point, chr(point))
        if self._lowercase and point in _HANGUL:
            value = _jamo(point - _HANGUL.start)
        if _within(point, self._alone):
            return f" {value} "
        return "".join(f" {char} " if _within(ord(char), self._punctuation) else char for char in value)


def _in_canonical_order(text: str, table: _Table) -> str:
    """The slow way, for a text with combining marks that strip_accents leaves: NFD sorts neighbours by class.

    A removed mark stands between two others like a letter if it has no class (a fence), else it is not there.
    """
    result: list[str] = []
    run: list[str] = []
    for char in text:
        value = table[ord(char)]
        if not value and not _within(ord(char), table.fences):
            continue
        for part in value or ("",):
            if part in table.ranks:
                run.append(part)
            else:
                result += sorted(run, key=table.ranks.__getitem__)
                result.append(part)
                run.clear()
    return "".join(result + sorted(run, key=table.ranks.__getitem__))


def _jamo(index: int) -> str:
    """The letters of a Hangul syllable (The Unicode Standard, 3.12)."""
    tail = index % 28
    return chr(0x1100 + index // 588) + chr(0x1161 + index % 588 // 28) + (chr(0x11A7 + tail) if tail else "")


def _edges(ranges: str) -> list[int]:
    """Where membership changes, sorted."""
    pairs = (item.partition("-") for item in ranges.split())
    return sorted(edge for first, _, last in pairs for edge in (int(first, 16), int(last or first, 16) + 1))


def _within(point: int, edges: list[int]) -> bool:
    return bisect_right(edges, point) % 2 == 1


def _points(ranges: str) -> list[int]:
    edges = _edges(ranges)
    return [point for first, end in zip(edges[::2], edges[1::2]) for point in range(first, end)]


def _mapping() -> dict[int, str]:
    mapping: dict[int, str] = {}
    for item in tables.MAPPED.split():
        start, _, values = item.partition(":")
        mapping.update(enumerate(values, int(start, 16)))
    for item in tables.EXPANDED.split():
        point, _, value = item.partition(":")
        mapping[int(point, 16)] = value
    return mapping


@lru_cache(maxsize=2)
def _table(lowercase: bool) -> _Table:
    return _Table(lowercase)
