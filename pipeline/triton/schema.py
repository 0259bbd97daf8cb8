"""The schema of a Triton release's config.pbtxt, as a protobuf message class of its own.

The classes live in a private descriptor pool: tritonclient registers a file of the same name in protobuf's default one,
and a process can hold only one of them there.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ops import SpecError
from ops.near import near

from .releases import DEFAULT_TARGET, TARGETS

_FOLDER = Path(__file__).parent / "schemas"
_PACKAGE = "inference"  # as the server's own messages say it


def model_config(target: str = DEFAULT_TARGET) -> type[Any]:
    """The class ModelConfig of a release; the message classes inside it belong to the same release.

    Errors: SpecError for a release whose schema is not here.

    >>> model_config("24.02")(name="yolo11", max_batch_size=8).max_batch_size
    8
    """
    if target not in TARGETS:
        raise SpecError(f"there is no schema of Triton {target}", fix=near(target, TARGETS))
    return _class(target)


def enum_name(message: Any, field: str) -> str:
    """The name of the value that an enum field of a message has; a number that the release does not know, as text.

    >>> enum_name(model_config()().input.add(data_type=11), "data_type")
    'TYPE_FP32'
    """
    number = getattr(message, field)
    value = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number.get(number)
    return str(value.name) if value else str(number)


@lru_cache
def _class(target: str) -> type[Any]:
    pool = descriptor_pool.DescriptorPool()
    file = _file((_FOLDER / f"{target}.txt").read_text(encoding="utf-8"))
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ModelConfig"))


def _file(text: str) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor behind the frozen facts: `message Name` or `enum Name`, then a line for each field or value."""
    file = descriptor_pb2.FileDescriptorProto(name="model_config.proto", package=_PACKAGE, syntax="proto3")
    blocks: dict[str, Any] = {}
    enums: set[str] = set()
    rows: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        words = line.split()
        if words[0] in ("message", "enum"):
            name = words[1]
            outer, _, last = name.rpartition(".")
            parent = blocks.get(outer)
            if words[0] == "enum":
                enums.add(name)
                block = (parent or file).enum_type.add(name=last)
            else:
                block = parent.nested_type.add(name=last) if parent else file.message_type.add(name=last)
            blocks[name] = block
        else:
            rows.append((name, words))
    for name, words in rows:
        if name in enums:
            blocks[name].value.add(name=words[0], number=int(words[1]))
        else:
            _add_field(blocks[name], name, words, enums)
    return file


def _add_field(message: Any, full_name: str, words: list[str], enums: set[str]) -> None:
    """One line: a name, a number, what it is, and the oneof that it belongs to."""
    name, number, *kind = words
    field = message.field.add(name=name, number=int(number))
    if len(kind) > 2 and kind[-2] == "of":
        groups = [group.name for group in message.oneof_decl]
        if kind[-1] not in groups:
            groups.append(kind[-1])
            message.oneof_decl.add(name=kind[-1])
        field.oneof_index = groups.index(kind[-1])
        kind = kind[:-2]
    field.label = field.LABEL_OPTIONAL if len(kind) == 1 else field.LABEL_REPEATED
    if kind[0] == "map":
        entry = message.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        for number_of_part, (part, type_name) in enumerate(zip(("key", "value"), kind[1:]), start=1):
            inner = entry.field.add(name=part, number=number_of_part, label=field.LABEL_OPTIONAL)
            _set_type(inner, type_name, enums)
        kind = [f"{full_name}.{entry.name}"]
    _set_type(field, kind[-1], enums)


def _set_type(field: Any, type_name: str, enums: set[str]) -> None:
    scalar = descriptor_pb2.FieldDescriptorProto.Type.DESCRIPTOR.values_by_name.get(f"TYPE_{type_name.upper()}")
    if scalar is not None:
        field.type = scalar.number
    else:
        field.type = field.TYPE_ENUM if type_name in enums else field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{type_name}"
