"""Source: a Python file, line by line, as ruff would format it; what nobody can know is marked."""

from __future__ import annotations

import json
import keyword
import textwrap
from typing import NamedTuple

from ..names import usable

WIDTH = 88  # ruff's and black's own


class Check(NamedTuple):
    """What to look at, and in which line; instead: the code for the other case, which stands below it as a comment."""

    line: int
    text: str
    instead: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The text, as it stands above that code."""
        return f"{self.text}, write instead:" if self.instead else self.text


class Source:
    """Lines, and the checks among them."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.checks: list[Check] = []

    def add(self, code: str = "", comment: str = "") -> None:
        """A line; its comment behind it, or before it where that would be too long."""
        whole = f"{code}  # {comment}" if comment else code
        if len(whole) > WIDTH and comment:
            self.note(comment)
            whole = code
        self._lines.append(whole)

    def extend(self, other: Source) -> None:
        """The lines of another, without its checks."""
        self._lines += other.lines

    def call(self, target: str, *given: str, comment: str = "") -> None:
        """A call, on as many lines as it takes."""
        whole = f"{target}({', '.join(given)})"
        inner = f"    {', '.join(given)}"
        if len(whole) <= WIDTH:
            self.add(whole, comment)
        elif len(inner) <= WIDTH or len(given) == 1:
            self._lines += [f"{target}(", inner, ")"]
        else:
            self._lines += [f"{target}(", *(f"    {one}," for one in given), ")"]

    def note(self, text: str) -> None:
        """A comment of its own."""
        text = _one_line(text)
        wrapped = textwrap.wrap(text, WIDTH - 2, subsequent_indent="  " if text.startswith("CHECK") else "")
        self._lines += [f"# {line}" for line in wrapped]

    def check(self, text: str, instead: Source | None = None) -> None:
        """Something to look at, above the line that it is about."""
        other = instead.lines if instead is not None else ()
        check = Check(len(self._lines) + 1, text, other)
        self.checks.append(check)
        self.note(f"CHECK: {check.told}")
        self._lines += [f"#     {_one_line(line)}" for line in other]

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _one_line(text: str) -> str:
    """A model's names hold anything; in a comment nothing may end the line."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def quoted(text: str) -> str:
    """A text as ruff writes it: in double quotes, unless it takes fewer escapes in single ones.

    >>> print(quoted("it's"), quoted('say "yes"'))
    "it's" 'say "yes"'
    """
    double = json.dumps(text, ensure_ascii=not text.isprintable())
    if text.count('"') <= text.count("'"):
        return double
    return "'" + double[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def tupled(values: tuple[object, ...]) -> str:
    """(1,), (1, 2)."""
    inner = ", ".join(quoted(value) if isinstance(value, str) else repr(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def identifier(name: str) -> str:
    """A name for a variable, an input and a keyword.

    >>> identifier("input.1"), identifier("537"), identifier("class"), identifier("批")
    ('input_1', '_537', 'class_', 'unnamed')
    """
    usual = usable(name).replace("-", "_")
    return f"{usual}_" if keyword.iskeyword(usual) or usual == "name" else usual
