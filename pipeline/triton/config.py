"""config.pbtxt: text to a ModelConfig and back."""

from __future__ import annotations

import re
import warnings
from typing import Any

from google.protobuf import text_format

from ops import GepipeError

from .outline import Entry, outline
from .releases import DEFAULT_TARGET
from .schema import model_config

CONFIG = "config.pbtxt"
_PLACE = re.compile(r"^(\d+):(\d+) : (.*)$", re.DOTALL)
_FIX = "mend that place; `gepipe lint` shows what else is wrong"


class ConfigError(GepipeError):
    """A config.pbtxt that the server's parser does not take: line, column, and the parser's own reason."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"{line}:{column}: {reason}", fix=_FIX)
        self.line = line
        self.column = column
        self.reason = reason


def parse(text: str, target: str = DEFAULT_TARGET) -> Any:
    """The ModelConfig that a text says, in the schema of a Triton release.

    Errors: ConfigError with line and column.

    >>> parse('name: "a" input { name: "x" dims: [ 3, -1 ] }').input[0].dims
    [3, -1]
    """
    message = model_config(target)()
    tree, broken = outline(text)  # protobuf's Python parser takes blanks and letters that the server's refuses
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of escapes that there are not; the outline says so
            text_format.Parse(text, message)
    except text_format.ParseError as error:
        placed = _placed(error, text)
        if broken and broken.letter and (broken.line, broken.column) <= (placed.line, placed.column):
            placed = ConfigError(broken.line, broken.column, broken.reason)
        raise placed from error
    except (ValueError, RecursionError) as error:  # it says no place; of numbers, of those of enums only
        reason = str(error) if "out of range" in str(error) else f"{type(error).__name__}: {error}"
        place = broken or _entry_of(tree, reason.rpartition(" ")[2])
        raise ConfigError(place.line, place.column, reason) from error
    if broken is not None:
        raise ConfigError(broken.line, broken.column, broken.reason)
    return message


def to_text(message: Any) -> str:
    """The text of a ModelConfig: the same for equal messages, one block for each pair of a map.

    >>> text = 'parameters [ { key: "b" }, { key: "a", value: { string_value: "中" } } ] name: "m"'
    >>> print(to_text(parse(text)), end="")
    name: "m"
    parameters {
      key: "a"
      value {
        string_value: "中"
      }
    }
    parameters {
      key: "b"
      value {
      }
    }
    """
    return str(text_format.MessageToString(message, as_utf8=True, use_short_repeated_primitives=True))


def instances_of(config: Any) -> int:
    """The instances of all groups; the server makes at least one of each."""
    return sum(max(1, group.count) for group in config.instance_group) or 1


def _entry_of(tree: Entry, scalar: str) -> Entry:
    """The first entry with that value; the whole file where there is none."""
    waiting = [tree]
    while waiting:
        entry = waiting.pop()
        if scalar in entry.text.split(", "):
            return entry
        waiting += reversed(entry.entries)
    return tree


def _placed(error: text_format.ParseError, text: str) -> ConfigError:
    """The parser quotes the whole line before its reason; the line number says that already."""
    match = _PLACE.match(str(error))
    if not match:
        return ConfigError(1, 1, str(error))
    line, column, reason = int(match[1]), int(match[2]), match[3]
    lines = text.split("\n")
    quoted = f"'{lines[line - 1]}': " if line <= len(lines) else "'': "
    return ConfigError(line, column, reason.removeprefix(quoted).removeprefix("'': "))
