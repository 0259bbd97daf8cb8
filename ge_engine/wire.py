"""Protobuf's wire format, as far as it takes to copy an ONNX file without its weights, and to rewrite other messages.

A message that is small cannot hold a large payload and is copied as it is; only large ones are looked into. A payload
that is left out is replaced by ONNX's own external-data form: where the bytes lie in the file.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple, Union

LIMIT = 1024  # payloads up to here are kept: shapes and scales, which shape inference reads
RAW, MESSAGE = "raw", "message"  # what a reference points at: the bytes of the values, or a whole TensorProto

_MAX_DEPTH = 90  # protobuf's own limit is 100
_CHILDREN = {  # message -> field -> the message in it, on the way to tensors
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
}
_TRAINING_INFO = 20  # of a model; never needed
_RAW_DATA = 9
_PAYLOADS = {4, 5, 7, _RAW_DATA, 10, 11}  # float_, int32_, int64_, raw_, double_, uint64_data


Bytes = Union[bytes, mmap.mmap]  # both give bytes when they are sliced


class Truncated(ValueError):
    """The bytes end, or stop making sense, before the message does."""


class Field(NamedTuple):
    """One field of a message, by its place in the bytes."""

    number: int
    wire_type: int
    start: int  # of the tag
    value: int  # of the contents, or the number itself for a varint
    end: int


def strip(data: Bytes, path: str) -> bytes:
    """The bytes of a ModelProto without the payload of any tensor over 1 KiB.

    path: where the data lies, for the references to what is left out.
    Errors: Truncated.
    """
    return b"".join(_strip(data, 0, len(data), "model", path, 0))


def _strip(data: Bytes, start: int, end: int, message: str, path: str, depth: int) -> list[bytes]:
    if depth > _MAX_DEPTH:
        raise Truncated("messages are nested too deeply")
    if message == "tensor":
        return _strip_tensor(data, start, end, path)
    children = _CHILDREN[message]
    pieces: list[bytes] = []
    copied = start
    for field in fields(data, start, end):
        if message == "model" and field.number == _TRAINING_INFO:
            pieces.append(data[copied : field.start])
            copied = field.end
            continue
        child = children.get(field.number)
        if child is None or field.wire_type != 2 or field.end - field.value <= LIMIT:
            continue
        inner = _strip(data, field.value, field.end, child, path, depth + 1)
        pieces += [data[copied : field.start], _tag(field.number, 2), _varint(sum(map(len, inner))), *inner]
        copied = field.end
    pieces.append(data[copied:end])
    return pieces


def _strip_tensor(data: Bytes, start: int, end: int, path: str) -> list[bytes]:
    pieces: list[bytes] = []
    copied = start
    reference = None
    for field in fields(data, start, end):
        if field.number in _PAYLOADS and field.wire_type == 2 and field.end - field.value > LIMIT:
            raw = field.number == _RAW_DATA
            reference = (field.value, field.end, RAW) if raw else (start, end, MESSAGE)
            pieces.append(data[copied : field.start])
            copied = field.end
    pieces.append(data[copied:end])
    if reference:
        first, last, form = reference
        pieces.append(number_field(14, 1))  # data_location: EXTERNAL
        entries = {"location": path, "offset": str(first), "length": str(last - first), "form": form}
        for key, value in entries.items():
            entry = bytes_field(1, key.encode()) + bytes_field(2, value.encode())
            pieces.append(bytes_field(13, entry))
    return pieces


def fields(data: Bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of a message, in order. Errors: Truncated."""
    position = start
    while position < end:
        tag, after = _read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        value = after
        if wire_type == 0:
            value, stop = _read_varint(data, after, end)
        elif wire_type == 2:
            length, value = _read_varint(data, after, end)
            stop = value + length
        elif wire_type in (1, 5):
            stop = after + (8 if wire_type == 1 else 4)
        else:
            raise Truncated(f"wire type {wire_type} at byte {position}")
        if number == 0 or stop > end:
            raise Truncated(f"field {number} at byte {position} ends at {stop}, its message at {end}")
        yield Field(number, wire_type, position, value, stop)
        position = stop


def _read_varint(data: Bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise Truncated(f"no number ends before byte {position}")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def bytes_field(number: int, value: bytes) -> bytes:
    """A field that holds a text, bytes or a message."""
    return _tag(number, 2) + _varint(len(value)) + value


def number_field(number: int, value: int) -> bytes:
    """A field that holds a whole number of at least 0."""
    return _tag(number, 0) + _varint(value)
