"""Rewrite: the part of a frozen graph that some outputs need, its inputs and outputs under other names.

An output gets its name by an Identity. A node that has one of the new names already makes way.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ops import ModelError
from ops.unique import unique

from .. import wire
from .graph_def import ATTRIBUTE, DTYPES, INPUT, NAME, NODE, OP, GraphDef, is_node, node_of, read_node

LARGEST = (1 << 31) - 1  # bytes of a message, by protobuf's own rule

_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
_LEGAL = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")  # a node's name, by TensorFlow's own rule


class Output(NamedTuple):
    """A value of a graph, and the name that it is to have. One value may have several.

    dtype: needed by TensorFlow and GE; OpenVINO finds it.
    """

    name: str
    value: str
    dtype: str = ""


def write_graph(source: GraphDef, inputs: Mapping[str, str], outputs: Sequence[Output], path: Path) -> None:
    """Write the part of a graph. inputs: the new name of each placeholder; they come first, in this order.

    Errors: ModelError for a name that TensorFlow does not allow, or a part that no file can hold; OSError.
    """
    for name in (*inputs.values(), *(output.name for output in outputs)):
        if not _LEGAL.fullmatch(name):
            raise ModelError(
                f"TensorFlow has no value called '{name}'", fix="use a name that begins with a letter or a digit"
            )
    needed = source.needed(output.value for output in outputs)
    taken = {*inputs.values(), *(output.name for output in outputs)}
    names = dict(inputs)
    for name in needed & taken - inputs.keys():
        names[name] = unique(f"{name}/own", taken | needed)
    with open(source.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        fields = list(wire.fields(data, 0, len(data)))
        nodes = {read_node(data, field)[0]: field for field in fields if is_node(field)}
        nbytes = sum(nodes[name].end - nodes[name].start for name in needed)
        if nbytes > LARGEST:
            raise ModelError(
                f"the outputs of {source.path} need {nbytes} bytes of it, and a .pb holds {LARGEST}",
                fix="ask for fewer: Model(outputs=...); or make an ONNX file of the model",
            )
        with open(path, "wb") as target:
            for name in (*inputs, *(name for name in nodes if name in needed and name not in inputs)):
                target.write(wire.bytes_field(NODE, b"".join(_renamed(data, nodes[name], names))))
            target.writelines(_identity(output, names) for output in outputs)
            # Its library of functions, and versions.
            target.writelines(data[field.start : field.end] for field in fields if not is_node(field))


def _renamed(data: mmap.mmap, node: wire.Field, names: Mapping[str, str]) -> Iterator[bytes]:
    for part in wire.fields(data, node.value, node.end):
        if part.wire_type == 2 and part.number in (NAME, INPUT):
            yield wire.bytes_field(part.number, _called(data[part.value : part.end].decode(), names).encode())
        elif not _is_colocation(data, part):
            yield data[part.start : part.end]


def _is_colocation(data: mmap.mmap, part: wire.Field) -> bool:
    """Whether it says beside which node to run: that node may have another name, or be gone."""
    return part.number == ATTRIBUTE and data[part.value : min(part.end, part.value + 8)] == b"\n\x06_class"


def _called(value: str, names: Mapping[str, str]) -> str:
    node = node_of(value)
    return value.replace(node, names.get(node, node), 1)


def _identity(output: Output, names: Mapping[str, str]) -> bytes:
    texts = ((NAME, output.name), (OP, "Identity"), (INPUT, _called(output.value, names)))
    parts = [wire.bytes_field(number, text.encode()) for number, text in texts]
    if output.dtype:
        kind = wire.bytes_field(1, b"T") + wire.bytes_field(2, wire.number_field(6, _NUMBERS[output.dtype]))
        parts.append(wire.bytes_field(ATTRIBUTE, kind))
    return wire.bytes_field(NODE, b"".join(parts))
