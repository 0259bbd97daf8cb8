"""Reading config.pbtxt: M01, E08, E17, L21, L22, and the form that older guides print."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..config import ConfigError, parse
from ..folder import Folder
from ..model import Model
from ..outline import Entry, outline
from ..problem import Place, Problem
from ..schema import model_config


def read_config(folder: Folder, target: str) -> Model:
    """The model of a folder; without a config.pbtxt it is what the server completes from the files."""
    text, problem = folder.read()
    if problem is not None:
        return Model(folder, None, Entry("", 1, 1), [problem])
    if text is None:
        return Model(folder, model_config(target)(), Entry("", 1, 1))
    tree = outline(text)[0]
    try:
        model = Model(folder, parse(text, target), tree)
    except ConfigError as error:
        others = [
            other for other in _misspelt(tree, target) if (other.line, other.reason) != (error.line, error.reason)
        ]
        return Model(folder, None, tree, [_refused(folder, tree, one, target) for one in (error, *others)])
    if "\ufffd" in text:
        model.problems.append(_not_utf8(folder, text))
    return model


def _not_utf8(folder: Folder, text: str) -> Problem:
    line = text[: text.index("\ufffd")].count("\n") + 1
    message = "config.pbtxt is not UTF-8: the server takes the bytes as they are, and hands them to the model"
    return Problem("L22", Place(folder.config_path, line), message, "save the file as UTF-8")


def _refused(folder: Folder, tree: Entry, error: ConfigError, target: str) -> Problem:
    path = folder.config_path
    message = f"failed to read text proto from config.pbtxt: {error.line}:{error.column}: {error.reason}"
    rule, fix = "M01", _fix(error, tree, target)
    if 'oneof "scheduling_choice"' in error.reason and tree.first("ensemble_scheduling"):
        rule, fix = "E08", "write the batcher in the configs of the steps' models"
    elif "MapEntry" in error.reason and "should not have multiple" in error.reason:
        rule, fix = "E17", "write one block for each pair: input_map { key: ... value: ... }"
    return Problem(rule, Place(path, error.line), message, fix)


def _misspelt(tree: Entry, target: str) -> Iterator[ConfigError]:
    """Every field and value that the release does not know; the parser stops at the first."""
    waiting = [(tree, model_config(target).DESCRIPTOR)]
    while waiting:
        block, message = waiting.pop()
        for entry in block.entries:
            field = message.fields_by_name.get(entry.name)
            if field is None:
                reason = f'Message type "{message.full_name}" has no field named "{entry.name}".'
                yield ConfigError(entry.line, entry.column, reason)
            elif field.message_type is not None:
                waiting.append((entry, field.message_type))
            elif field.enum_type is not None:
                known = field.enum_type.values_by_name
                for word in entry.text.split(", "):
                    if word.isidentifier() and word not in known:
                        reason = f'Enum type "{field.enum_type.full_name}" has no value named {word}.'
                        yield ConfigError(entry.line, entry.column, reason)


def _fix(error: ConfigError, tree: Entry, target: str) -> str:
    unknown = re.search(r'has no field named "(\w+)"', error.reason)
    if unknown and unknown[1] in ("step", "input_map", "output_map", "model_name") and tree.first(unknown[1]):
        return "steps stand in a block: ensemble_scheduling { step [ { model_name: ... model_version: -1 ... } ] }"
    if unknown:
        return f"Triton {target} has no such field there: mend its name, or leave it out"
    value = re.search(r'has no value named "?(\w+)', error.reason)
    if value and f"TYPE_{value[1].upper()}" in _types(target):
        return f"write TYPE_{value[1].upper()}"
    if "U+FEFF" in error.reason:
        return "save the file as UTF-8 without a byte order mark"
    if "only ASCII" in error.reason:
        return "write that blank or letter in ASCII; other letters stand in strings and comments"
    if "string" in error.reason.lower() and "parameters" in {entry.name for entry in tree.entries}:
        return "write text in quotes: string_value is always a string"
    return "mend that place"


def _types(target: str) -> list[str]:
    config = model_config(target).DESCRIPTOR
    enum = config.fields_by_name["input"].message_type.fields_by_name["data_type"].enum_type
    return [value.name for value in enum.values]
