"""Write ops/unicode_tables.py: what tokenizers does to each code point, asked of tokenizers itself.

Run it with the version that Tokenize follows (`pip install tokenizers==0.23.3`) and commit what it writes. It asks no
other source: Python's unicodedata follows another Unicode version in each Python, and tokenizers mixes several.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tokenizers
from tokenizers.normalizers import NFD, BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TARGET = Path(__file__).parents[1] / "ops" / "unicode_tables.py"
POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)
FENCE = "☃"  # what every normalizer leaves alone, and no mark moves across
PLAIN = (
    *(range(0x21, 0x7F), range(0xA1, 0x300), range(0x370, 0x590), range(0x10A0, 0x1100)),
    *(range(0x1E00, 0x2000), range(0x2100, 0x2E00), range(0x3040, 0xA000), range(0xA640, 0xA800)),
)
LOW_CLASS, HIGH_CLASS = "\u0334", "\u0345"  # marks that are put first and last among those behind one letter

HEADER = '''"""What tokenizers {version} does to each code point. Made by scripts/freeze_unicode_tables.py; don't edit.

Ranges are in hex, with both ends. MAPPED holds `start:values`, one value for each code point from start on.
"""
'''


def main() -> None:
    """Write the module."""
    TARGET.write_text(source(), encoding="utf-8")


def source() -> str:
    """The text of ops/unicode_tables.py."""
    cased = each(BertNormalizer(lowercase=False).normalize_str)
    lowered = each(BertNormalizer(lowercase=True).normalize_str)
    marks = {point for point in POINTS if cased[point] and not lowered[point]}
    across = each(NFD().normalize_str, HIGH_CLASS, LOW_CLASS)
    fences = {point for point, text in across.items() if text.index(HIGH_CLASS) < text.index(LOW_CLASS)}
    mapped = {p: lowered[p].strip(" ") for p in POINTS if lowered[p] not in ("", cased[p]) and p not in HANGUL}
    single = {p: value for p, value in mapped.items() if len(value) == 1}
    single |= {p + 1: chr(p + 1) for p in single if p + 2 in single and lowered[p + 1] == chr(p + 1)}
    classes = reordered(chr(p) for p in POINTS if lowered[p] == chr(p) and p not in fences)
    check(cased, lowered, set().union(*classes))
    spaced = [point for point in POINTS if cased[point] == f" {chr(point)} "]
    tables = {
        "DROPPED": ("clean_text removes these.", ranges(p for p in POINTS if not cased[p])),
        "SPACES": ("These become a space.", ranges(p for p in POINTS if cased[p] == " ")),
        "IDEOGRAPHS": ("These get a space on both sides.", ranges(spaced)),
        "PUNCTUATION": ("Each of these is a word of its own.", ranges(punctuation())),
        "MARKS": ("strip_accents removes these; other marks move across them.", ranges(marks - fences)),
        "FENCES": ("strip_accents removes these; no mark moves across them.", ranges(marks & fences)),
        "MAPPED": ("NFD, without marks, in lower case.", values(single)),
        "EXPANDED": ("The same, to several.", [f"{p:X}:{escaped(v)}" for p, v in mapped.items() if len(v) > 1]),
    }
    parts = [HEADER.format(version=tokenizers.__version__)]
    parts += [f'# {why}\n{name} = """\n{wrapped(words)}\n"""\n' for name, (why, words) in tables.items()]
    lines = "".join(f'    "{" ".join(ranges(group))}",\n' for group in classes)
    parts.append(f"# Marks that stay; NFD puts neighbours in the order of these rows.\nREORDERED = (\n{lines})\n")
    return "\n".join(parts)


def each(normalize: Callable[[str], str], before: str = "", after: str = "") -> dict[int, str]:
    """What each code point becomes by itself; many in one call, because a call costs more than a character."""
    found: dict[int, str] = {}
    for start in range(0, len(POINTS), 4096):
        points = [point for point in POINTS[start : start + 4096] if point != ord(FENCE)]
        results = normalize(FENCE.join(f"{before}{chr(point)}{after}" for point in points)).split(FENCE)
        found.update(zip(points, results, strict=True))
    found[ord(FENCE)] = normalize(before + FENCE + after)
    return found


def punctuation() -> Iterator[int]:
    """The code points that the pre-tokenizer cuts out of a word."""
    for start in range(0, len(POINTS), 4096):
        text = "a".join(map(chr, POINTS[start : start + 4096]))
        for word, _ in BertPreTokenizer().pre_tokenize_str(f"a{text}a"):
            if len(word) == 1 and word != "a":
                yield ord(word)


def reordered(marks: Iterable[str]) -> list[list[int]]:
    """One list a combining class, in the order of the classes."""
    nfd = NFD().normalize_str

    def compare(a: str, b: str) -> int:
        return (nfd(a + b) != a + b) - (nfd(b + a) != b + a)

    groups: list[list[int]] = []
    previous = ""
    for mark in sorted(marks, key=functools.cmp_to_key(compare)):
        if not previous or compare(previous, mark):
            groups.append([])
        groups[-1].append(ord(mark))
        previous = mark
    return groups


def check(cased: dict[int, str], lowered: dict[int, str], marks: set[int]) -> None:
    """What ops/bert_words.py takes for granted of these tables."""
    for point in POINTS:
        char = chr(point)
        if cased[point] == lowered[point] == char and not char.isspace():
            continue
        assert cased[point] in ("", " ", char, f" {char} "), f"{point:X}"
        assert (cased[point][:1] == " ") == (lowered[point][:1] == " "), f"{point:X}"
        assert not any(c.isspace() and c != " " for c in cased[point] + lowered[point]), f"{point:X}"
        tail = [ord(c) in marks for c in lowered[point]]
        assert tail == sorted(tail), f"{point:X}"
    for point in HANGUL:
        index = point - HANGUL.start
        jamo = [0x1100 + index // 588, 0x1161 + index % 588 // 28, 0x11A7 + index % 28]
        assert lowered[point] == "".join(map(chr, jamo if index % 28 else jamo[:2])), f"{point:X}"


def ranges(points: Iterable[int]) -> list[str]:
    """`first-last` in hex, or `point` for one alone."""
    runs: list[list[int]] = []
    for point in sorted(points):
        if runs and runs[-1][1] == point - 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return [f"{first:X}-{last:X}" if last > first else f"{first:X}" for first, last in runs]


def values(mapped: dict[int, str], columns: int = 80) -> list[str]:
    """`start:values`, in pieces that fit a line."""
    runs: list[tuple[int, int, str]] = []
    for point, value in sorted(mapped.items()):
        start, end, text = runs[-1] if runs else (-1, -1, "")
        if point == end and width(text) < columns:
            runs[-1] = (start, point + 1, text + escaped(value))
        else:
            runs.append((point, point + 1, escaped(value)))
    return [f"{start:X}:{text}" for start, _, text in runs]


def escaped(text: str) -> str:
    """As it stands in the source: a letter that joins others or reads from right to left as an escape."""
    return "".join(
        c if any(ord(c) in block for block in PLAIN) and c not in '"\\' else ascii(c)[1:-1].replace('"', '\\"')
        for c in text
    )


def wrapped(words: Iterable[str], columns: int = 118) -> str:
    """Lines of words."""
    lines: list[str] = []
    room = 0
    for word in words:
        if width(word) >= room:
            lines.append(word)
            room = columns - width(word)
        else:
            lines[-1] += f" {word}"
            room -= width(word) + 1
    return "\n".join(lines)


def width(text: str) -> int:
    """Columns on a screen; an ideograph takes two."""
    return sum(2 if ord(c) >= 0x2E80 else 1 for c in text)


if __name__ == "__main__":
    main()
