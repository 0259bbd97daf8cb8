"""Outline: where each field and block of a text-format file stands, however broken the file is.

protobuf's own parser keeps no places. This one knows the grammar and no schema; it reads letters as the server's parser
does, which takes only ASCII outside strings and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from google.protobuf import text_encoding

# Each string can be read in one way only: in an unclosed one, many ways are as many attempts.
_ESCAPE = (
    r"""\\(?:[abfnrtv\\?'"]|[0-7]{3}|[0-7]{1,2}(?![0-7])|[xX][0-9A-Fa-f]+(?![0-9A-Fa-f])"""
    r"""|u[0-9A-Fa-f]{4}|U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"""
)
_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r\v\f]+|\#[^\n]*)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>(?:\d|\.\d)(?:[0-9A-Za-z_.]|(?<=[eE])[+-])*)
      | (?P<string>"(?:[^"\\\n]|ESCAPE)*"|'(?:[^'\\\n]|ESCAPE)*')
      | (?P<symbol>[^\x00-\x1f\x7f-\U0010ffff"'])""".replace("ESCAPE", _ESCAPE),
    re.VERBOSE,
)
_CLOSED = re.compile(r"""(["'])(?:\\.|[^\\\n])*?\1""")
_CLOSING = {"{": "}", "<": ">"}


@dataclass(frozen=True)
class Token:
    """A word of the file: what it is, its text and the offset at which it starts."""

    kind: str
    text: str
    start: int


@dataclass
class Entry:
    """A field and its value: `text` as it is written for a scalar, `entries` for a block."""

    name: str
    line: int
    column: int
    text: str = ""
    entries: list[Entry] = field(default_factory=list)

    def all(self, name: str) -> list[Entry]:
        """The entries of that name, in the order of the file."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[Entry]]:
        """Asked for when the whole file has been read; without it, finding each of n blocks would take n * n steps."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.name, []).append(entry)
        return found

    def first(self, name: str) -> Entry | None:
        """The first entry of that name, if there is one."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def find(self, *path: str | int) -> Entry:
        """The entry at ("input", 0, "dims"), or the nearest one around it; 0 may be left out."""
        here = self
        for position, name in enumerate(path):
            if isinstance(name, int):
                continue
            index = path[position + 1] if position + 1 < len(path) else 0
            found = here.all(name)
            index = index if isinstance(index, int) else 0
            if index >= len(found):
                return here
            here = found[index]
        return here

    def string(self, name: str = "") -> str:
        """The string that is written here, or in the entry of that name; "" if there is none."""
        entry = self.first(name) if name else self
        return unquoted(entry.text) if entry else ""


class Broken(ValueError):
    """What the grammar does not allow: its line, its column and why. `letter`: a character that begins no word."""

    def __init__(self, line: int, column: int, reason: str, letter: bool = False) -> None:
        super().__init__(f"{line}:{column}: {reason}")
        self.line = line
        self.column = column
        self.reason = reason
        self.letter = letter


def outline(text: str) -> tuple[Entry, Broken | None]:
    """The file as one entry without a name, and where its grammar breaks, if it does; what stands before is kept.

    >>> root, broken = outline('name: "a"\\ninput [ { dims: [ 1, 2 ] } ]')
    >>> root.find("input", 0, "dims").line, root.string("name"), broken
    (2, 'a', None)
    >>> outline("input [ { dims: 1 }")[1]
    Broken('1:20: expected "," or "]"')
    """
    root = Entry("", 1, 1)
    reader = _Reader(text)
    try:
        reader.read(root)
    except Broken as error:
        return root, error
    return root, None


def unquoted(text: str) -> str:
    """The value of one or more string literals; a text that is none is returned as it is."""
    parts = [match[0] for match in _TOKEN.finditer(text) if match.lastgroup == "string"]
    if not parts:
        return text
    try:
        value: bytes = b"".join(text_encoding.CUnescape(part[1:-1]) for part in parts)
    except ValueError:
        return text
    return value.decode("utf-8", "replace")


@dataclass
class _Level:
    """What is open: a block ("}" or ">") or a list of blocks ("]"), the entry that it fills, and its field's name."""

    entry: Entry
    closing: str
    name: str = ""


class _Reader:
    """Reads tokens into entries, with a stack of its own: files can be nested deeper than Python may recurse."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._line = 0
        self._tokens = self._read_tokens()

    def read(self, root: Entry) -> None:
        self._next()
        levels = [_Level(root, "")]
        while levels:
            level = levels[-1]
            if level.closing == "]":
                self._list_item(levels)
            elif self._token.text == level.closing:
                self._close(levels)
            elif self._token.kind == "end":
                raise self._broken(f'expected "{level.closing}" to end the block of line {level.entry.line}')
            else:
                self._field(levels)

    def _field(self, levels: list[_Level]) -> None:
        """name: value, name { ... }, name [ ... ]"""
        if self._token.kind not in ("name", "number"):
            raise self._broken(f'expected a field, found "{self._token.text}"')
        entry = self._entry(self._token.text)
        siblings = levels[-1].entry.entries
        self._next()
        colon = self._take(":")
        if self._take("["):
            if self._token.text in _CLOSING:
                levels.append(_Level(levels[-1].entry, "]", entry.name))
                self._open(levels, self._entry(entry.name))
                return
            if not colon and self._token.text != "]":
                found = f'expected "{{", found "{self._token.text}"'
                raise self._broken(f'{found}: a list of values needs ":" before its "["')
            entry.text = self._scalars()
        elif self._token.text in _CLOSING:
            self._open(levels, entry)
            return
        elif colon:
            entry.text = self._scalar()
        else:
            raise self._broken('expected ":", "{" or "["')
        siblings.append(entry)
        self._separator()

    def _list_item(self, levels: list[_Level]) -> None:
        """Behind a block of a list: the end of the list, or the next block."""
        if self._take("]"):
            levels.pop()
            self._separator()
            return
        if not self._take(","):
            raise self._broken('expected "," or "]"')
        if self._token.text not in _CLOSING:
            raise self._broken(f'expected "{{", found "{self._token.text}"')
        self._open(levels, self._entry(levels[-1].name))

    def _open(self, levels: list[_Level], entry: Entry) -> None:
        levels[-1].entry.entries.append(entry)
        levels.append(_Level(entry, _CLOSING[self._token.text]))
        self._next()

    def _close(self, levels: list[_Level]) -> None:
        levels.pop()
        if levels:
            self._next()
            if levels[-1].closing != "]":
                self._separator()

    def _scalars(self) -> str:
        """The rest of a list of scalars."""
        texts: list[str] = []
        while not self._take("]"):
            if texts and not self._take(","):
                raise self._broken('expected "," or "]"')
            texts.append(self._scalar())
        return ", ".join(texts)

    def _scalar(self) -> str:
        start = self._token
        if start.kind == "string":
            text = start.text
            self._next()
            while self._token.kind == "string":
                text += " " + self._token.text
                self._next()
            return text
        sign = "-" if self._take("-") else ""
        if self._token.kind not in ("name", "number"):
            raise self._broken(f'expected a value, found "{self._token.text}"')
        text = sign + self._token.text
        self._next()
        return text

    def _separator(self) -> None:
        if not self._take(","):
            self._take(";")

    def _take(self, text: str) -> bool:
        if self._token.text != text or self._token.kind != "symbol":
            return False
        self._next()
        return True

    def _next(self) -> None:
        self._token = next(self._tokens)

    def _read_tokens(self) -> Iterator[Token]:
        position, size = 0, len(self._text)
        while position < size:
            match = _TOKEN.match(self._text, position)
            if not match:
                quote = self._text[position] in "\"'"
                reason = _string(self._text, position) if quote else _letter(self._text[position])
                raise Broken(*self._place(position), reason, letter=not quote)
            if match.lastgroup != "space":
                yield Token(str(match.lastgroup), match[0], position)
            position = match.end()
        while True:
            yield Token("end", "", size)

    def _entry(self, name: str) -> Entry:
        """An entry that starts at this token."""
        return Entry(name, *self._place(self._token.start))

    def _place(self, position: int) -> tuple[int, int]:
        """Line and column; positions only grow, so the line is never searched for."""
        while self._line + 1 < len(self._starts) and self._starts[self._line + 1] <= position:
            self._line += 1
        return self._line + 1, position - self._starts[self._line] + 1

    def _broken(self, reason: str) -> Broken:
        return Broken(*self._place(self._token.start), reason)


def _string(text: str, position: int) -> str:
    """Why a string is none."""
    closed = _CLOSED.match(text, position)
    return "an escape in a string that there is not" if closed else "a string without its closing quote"


def _letter(letter: str) -> str:
    """Why a character cannot stand outside strings and comments."""
    if letter == "\ufeff":
        return "a byte order mark (U+FEFF)"
    if letter < "\x7f":
        return f"a control character (U+{ord(letter):04X})"
    return f"{letter!r} (U+{ord(letter):04X}) outside a string: only ASCII stands there"
