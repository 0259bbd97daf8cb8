"""GraphDef: what a frozen TensorFlow graph says of itself, read without TensorFlow.

A value is called as TensorFlow calls it, `node:1`, without the `:0` of a first output.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from ops import ModelError
from ops.near import near, nearest

from .. import wire
from ..model_file import status_of

NODE, NAME, OP, INPUT, ATTRIBUTE = 1, 1, 2, 3, 5  # fields: of a graph, and of a node
DTYPES = {  # DataType of TensorFlow
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "bytes", 9: "int64", 10: "bool",
    14: "bfloat16", 17: "uint16", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
AGAIN = "freeze the model again: gepipe convert SAVED_MODEL -o model.pb"

_TYPE, _SHAPE = 6, 7  # fields of an attribute's value
_VARIABLES = {"Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", "ReadVariableOp"}
_LOOPS = {"NextIteration", "RefNextIteration"}  # what they read is of the round before
_NO_VALUE = {"Assert", "Const", "NoOp", "Placeholder", "PlaceholderWithDefault"}  # nothing that an answer could be


class Node(NamedTuple):
    """A node: its op, what it reads (control edges begin with ^), and its attributes as they are written."""

    op: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, bytes]


class Placeholder(NamedTuple):
    """An input. dtype: "" for one that is not ours. dims: -1 for one that varies; None where the rank is unknown."""

    name: str
    dtype: str
    dims: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class GraphDef:
    """A frozen graph without its weights. nodes: by name, in the file's order. inputs: all that it has."""

    path: str
    nodes: Mapping[str, Node]
    inputs: tuple[Placeholder, ...]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values that no node reads: the outputs, where nobody says otherwise."""
        read = {node_of(name) for node in self.nodes.values() for name in node.inputs}
        return tuple(name for name, node in self.nodes.items() if name not in read and node.op not in _NO_VALUE)

    def outputs(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """The values that are wanted, or the leaves. Errors: ModelError for one that is not there, or is doubled."""
        found = tuple(map(plain, wanted)) or self.leaves
        if not found:
            raise ModelError(f"{self.path} has no output", fix="name the values that it is to give: Model(outputs=...)")
        for name in found:
            node, colon, slot = name.partition(":")
            if node not in self.nodes or (colon and not slot.isdecimal()):
                meant = nearest(node_of(name), self.nodes)
                fix = f"did you mean '{meant}'?" if meant else near(name, self.leaves)
                raise ModelError(f"{self.path} has no value '{name}'", fix=fix)
            if found.count(name) > 1:
                raise ModelError(f"output '{name}' is named twice", fix="name each once")
        return found

    def needed(self, values: Iterable[str]) -> set[str]:
        """The names of the nodes that these values depend on, their own included.

        Errors: ModelError where the graph reads a node that it does not have.
        """
        found: set[str] = set()
        waiting = [node_of(value) for value in values]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            if name not in self.nodes:
                raise ModelError(f"{self.path} reads a node '{name}', which it does not have", fix=AGAIN)
            found.add(name)
            waiting += map(node_of, self.nodes[name].inputs)
        return found

    def placeholders(self, values: Iterable[str]) -> tuple[Placeholder, ...]:
        """The inputs that these values depend on. Errors: ModelError where there is none."""
        needed = self.needed(values)
        found = tuple(one for one in self.inputs if one.name in needed)
        if not found:
            raise ModelError(f"{self.path} has no input that its outputs depend on", fix=AGAIN)
        return found


def plain(value: str) -> str:
    """The name of a value without the :0 of a first output.

    >>> plain("scores:0"), plain("split:1")
    ('scores', 'split:1')
    """
    return value.removesuffix(":0")


def node_of(value: str) -> str:
    """The node that makes a value, or that a control edge is about.

    >>> node_of("split:1"), node_of("^assert")
    ('split', 'assert')
    """
    return value.removeprefix("^").partition(":")[0]


def read_graph_def(path: str) -> GraphDef:
    """A frozen graph; read once for each version of the file.

    Errors: ModelError for a file that is missing, damaged, something else, or not frozen.
    """
    status = status_of(path, AGAIN)
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(path: str, mtime_ns: int, size: int) -> GraphDef:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _refuse_others(data, path)
            nodes = _by_name(
                (read_node(data, field) for field in wire.fields(data, 0, len(data)) if is_node(field)), path
            )
            inputs = tuple(_placeholder(name, node) for name, node in nodes.items() if node.op == "Placeholder")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", fix="look at its permissions") from error
    except (wire.Truncated, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is not a frozen TensorFlow graph, or is cut short: {error}", fix=AGAIN) from error
    variables = [name for name, node in nodes.items() if node.op in _VARIABLES]
    if variables:
        raise ModelError(
            f"{path} is not frozen: {len(variables)} variables, as '{variables[0]}', have their values elsewhere",
            fix=AGAIN,
        )
    _refuse_cycles(nodes, path)
    return GraphDef(path, nodes, inputs)


def _by_name(nodes: Iterable[tuple[str, Node]], path: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for name, node in nodes:
        if node_of(name) != name:
            raise ModelError(f"{path} has a node '{name}': no name begins with ^, or has a colon", fix=AGAIN)
        if name in found:
            raise ModelError(f"{path} has two nodes called '{name}'", fix=AGAIN)
        found[name] = node
    return found


def _refuse_cycles(nodes: Mapping[str, Node], path: str) -> None:
    """Errors: ModelError for nodes that wait for each other, on which OpenVINO would wait for ever."""
    reads: dict[str, Iterator[str]] = {
        name: map(node_of, node.inputs) for name, node in nodes.items() if node.op not in _LOOPS
    }
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        raise ModelError(f"the nodes of {path} wait for each other: {' <- '.join(error.args[1])}", fix=AGAIN) from error


def is_node(field: wire.Field) -> bool:
    """Whether a field of a graph is one of its nodes."""
    return field.number == NODE and field.wire_type == 2


def read_node(data: wire.Bytes, field: wire.Field) -> tuple[str, Node]:
    """A node and its name, without the attributes that are large. Errors: Truncated."""
    name = op = ""
    inputs: list[str] = []
    attributes: dict[str, bytes] = {}
    for part in wire.fields(data, field.value, field.end):
        if part.wire_type != 2:
            continue
        if part.number == ATTRIBUTE and part.end - part.value <= wire.LIMIT:
            attributes.update([_attribute(data[part.value : part.end])])
        elif part.number in (NAME, OP, INPUT):
            text = data[part.value : part.end].decode()
            if part.number == NAME:
                name = text
            elif part.number == OP:
                op = text
            else:
                inputs.append(text)
    if not name or not op:
        raise wire.Truncated(f"the node at byte {field.start} has no name, or no op")
    return name, Node(op, tuple(inputs), attributes)


def _attribute(entry: bytes) -> tuple[str, bytes]:
    parts = {part.number: entry[part.value : part.end] for part in wire.fields(entry, 0, len(entry))}
    return parts.get(1, b"").decode(), parts.get(2, b"")


def _placeholder(name: str, node: Node) -> Placeholder:
    kinds = _numbers(node.attributes.get("dtype", b""), _TYPE)
    shape = node.attributes.get("shape", b"")
    found = next((f for f in wire.fields(shape, 0, len(shape)) if f.number == _SHAPE), None)
    dims = _dims(shape[found.value : found.end]) if found else None
    return Placeholder(name, DTYPES.get(kinds[0], "") if kinds else "", dims)


def _dims(shape: bytes) -> tuple[int, ...] | None:
    """The sizes of a TensorShapeProto: dim = 2 (size = 1), unknown_rank = 3."""
    if any(_numbers(shape, 3)):
        return None
    dims = [shape[f.value : f.end] for f in wire.fields(shape, 0, len(shape)) if f.number == 2]
    sizes = [next(iter(_numbers(dim, 1)), 0) for dim in dims]
    return tuple(-1 if size >= 1 << 63 else size for size in sizes)  # a negative number takes all 64 bits


def _numbers(data: bytes, number: int) -> list[int]:
    return [f.value for f in wire.fields(data, 0, len(data)) if f.number == number and f.wire_type == 0]


def _refuse_others(data: wire.Bytes, path: str) -> None:
    """Errors: ModelError for the other files that end in .pb."""
    kinds = {(field.number, field.wire_type) for field in wire.fields(data, 0, len(data))}
    if (1, 0) in kinds and (7, 2) in kinds:
        raise ModelError(f"{path} is an ONNX model", fix="call it .onnx: npu_ge, too, goes by the ending")
    if (1, 0) in kinds and (2, 2) in kinds:
        raise ModelError(
            f"{path} is the graph of a SavedModel, whose variables lie beside it",
            fix=f"freeze it: gepipe convert {os.path.dirname(path) or '.'} -o model.pb",
        )
    if (NODE, 2) not in kinds:
        raise ModelError(f"{path} is not a frozen TensorFlow graph", fix=AGAIN)
