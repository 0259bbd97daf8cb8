"""Write pipeline/triton/schemas/<release>.txt: Triton's ModelConfig, asked of a release's client.

Run it with each client in turn (`pip install 'tritonclient[grpc]==2.43.0'`, then 2.51.0) and commit what it writes.
Only facts are taken: the names, numbers, types, labels and groups of fields, and the values of enums.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

FOLDER = Path(__file__).parents[1] / "pipeline" / "triton" / "schemas"
RELEASES = {"2.43.0": "24.02", "2.51.0": "24.10"}


def main() -> None:
    """Write the file of the release whose client is installed."""
    release = RELEASES[importlib.metadata.version("tritonclient")]
    file = descriptor_pb2.FileDescriptorProto()
    importlib.import_module("tritonclient.grpc.model_config_pb2").DESCRIPTOR.CopyToProto(file)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{release}.txt").write_text("\n".join(lines(file)) + "\n", encoding="utf-8")


def lines(file: Any) -> Iterator[str]:
    """A line for each message, enum, field and value; a message's fields follow it."""
    prefix = f".{file.package}."
    for enum in file.enum_type:
        yield from _enum(enum, "")
    for message in file.message_type:
        yield from _message(message, "", prefix)


def _message(message: Any, outer: str, prefix: str) -> Iterator[str]:
    name = outer + message.name
    yield f"message {name}"
    maps = {entry.name: entry for entry in message.nested_type if entry.options.map_entry}
    for field in message.field:
        entry = maps.get(field.type_name.rpartition(".")[2])
        if entry:
            key, value = (_type(part, prefix) for part in entry.field)
            words = [f"map {key} {value}"]
        else:
            words = ["repeated"] * (field.label == field.LABEL_REPEATED) + [_type(field, prefix)]
        if field.HasField("oneof_index"):
            words.append(f"of {message.oneof_decl[field.oneof_index].name}")
        yield f"{field.name} {field.number} {' '.join(words)}"
    yield from _nested(message, name, maps.values(), prefix)


def _nested(message: Any, name: str, maps: Iterable[Any], prefix: str) -> Iterator[str]:
    for enum in message.enum_type:
        yield from _enum(enum, f"{name}.")
    for nested in message.nested_type:
        if nested not in maps:
            yield from _message(nested, f"{name}.", prefix)


def _enum(enum: Any, outer: str) -> Iterator[str]:
    yield f"enum {outer}{enum.name}"
    for value in enum.value:
        yield f"{value.name} {value.number}"


def _type(field: Any, prefix: str) -> str:
    if field.type_name:
        return str(field.type_name).removeprefix(prefix)
    return str(descriptor_pb2.FieldDescriptorProto.Type.Name(field.type)).removeprefix("TYPE_").lower()


if __name__ == "__main__":
    main()
