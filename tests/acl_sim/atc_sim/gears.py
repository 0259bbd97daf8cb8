"""Gears: --input_shape and the three flags that give its -1 their values, against each other and the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .errors import AtcError

Dims = tuple[int, ...]
SAMPLE = '"input_name1:1,3,224,224"'
FEWEST, MOST, MOST_950, LARGEST_BATCH = 2, 100, 256, 2048
KINDS = {"dynamic_batch_size": "batch", "dynamic_image_size": "hw", "dynamic_dims": "dims"}


class Gears(NamedTuple):
    """kind: as in the .om. shapes: of the inputs in --input_shape, -1 where open. values: of each gear."""

    kind: str
    shapes: Mapping[str, Dims]
    values: tuple[Dims, ...]

    def filled(self, name: str, own: Dims) -> tuple[Dims, ...]:
        """The dims of an input in each gear; own: in the model."""
        dims = self.shapes.get(name, own)
        if self.kind == "static":
            return (dims,)
        if self.kind == "batch":
            return tuple(tuple(value[0] if dim == -1 else dim for dim in dims) for value in self.values)
        if self.kind == "hw":
            return tuple(_in_order(dims, value) for value in self.values)
        before = 0
        for other, shape in self.shapes.items():
            if other == name:
                break
            before += shape.count(-1)
        return tuple(_in_order(dims, value[before:]) for value in self.values)


def of(flags: Mapping[str, str]) -> Gears:
    """Errors: AtcError."""
    flag = next((name for name in KINDS if flags.get(name)), None)
    shapes = read_shapes(flags.get("input_shape", ""), flag is not None)
    if flag is None:
        return Gears("static", shapes, ())
    if not shapes:
        raise AtcError("E10001", "", "--input_shape", f"it must be set with --{flag}")
    _open_axes(flag, shapes, flags.get("input_format", ""))
    rows = _rows(flag, flags[flag], sum(shape.count(-1) for shape in shapes.values()))
    most = MOST_950 if "950" in flags["soc_version"] else MOST
    if len(rows) < FEWEST:
        raise AtcError("E10035", len(rows), FEWEST)
    if len(rows) > most:
        raise AtcError("E10036", len(rows), most)
    for value in (value for row in rows for value in row):
        if value < 1:
            raise AtcError("E10038", value)
        if flag == "dynamic_batch_size" and value > LARGEST_BATCH:
            raise AtcError("E10001", value, "--dynamic_batch_size", f"a batch size is at most {LARGEST_BATCH}")
    if len(set(rows)) != len(rows):
        raise AtcError("E10039")
    return Gears(KINDS[flag], shapes, tuple(rows))


def read_shapes(text: str, may_be_open: bool) -> dict[str, Dims]:
    """--input_shape. Errors: AtcError."""
    shapes: dict[str, Dims] = {}
    for part in filter(None, text.split(";")):
        name, colon, dims = part.rpartition(":")
        if not colon or not name:
            raise AtcError("E10002", part, 'size not equal to 2 split by ":"', SAMPLE)
        if "~" in dims:
            raise AtcError("E10040" if may_be_open else "E10055", "the simulator does no ranges of dims")
        values = [_dim(part, value) for value in dims.split(",")] if dims else []
        for value in values:
            if value < -1 or (value < 1 and not may_be_open) or value == 0:
                raise AtcError("E10011", part, value)
        if name in shapes:
            raise AtcError("E10002", part, f"{name} is there twice", SAMPLE)
        shapes[name] = tuple(values)
    return shapes


def _dim(part: str, text: str) -> int:
    if "." in text:
        raise AtcError("E10002", part, "exist float number", SAMPLE)
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise AtcError("E10002", part, "is not digit", SAMPLE)
    return int(text)


def _open_axes(flag: str, shapes: Mapping[str, Dims], layout: str) -> None:
    holes = {name: [axis for axis, dim in enumerate(shape) if dim == -1] for name, shape in shapes.items()}
    if flag == "dynamic_batch_size":
        for name, shape in shapes.items():
            if not shape:
                raise AtcError("E10012")
            if holes[name] not in ([], [0]):
                raise AtcError("E10018", -1, next(axis for axis in holes[name] if axis))
        if not any(holes.values()):
            raise AtcError("E10031")
    elif flag == "dynamic_image_size":
        sound = all(not found or (found == [2, 3] and len(shapes[name]) == 4) for name, found in holes.items())
        if layout not in ("", "NCHW") or not any(holes.values()) or not sound:
            raise AtcError("E10019")
    elif not any(holes.values()):
        reason = "at least one dim should be -1 when set dynamic_dims"
        raise AtcError("E10001", 0, "--input_shape's dynamic dim num", reason)


def _rows(flag: str, text: str, holes: int) -> list[Dims]:
    text = text.removesuffix(";") if flag != "dynamic_batch_size" else text.removesuffix(",")
    cells = [[value] for value in text.split(",")] if flag == "dynamic_batch_size" else _split(text)
    # Here, before it looks at the gears as GE does online, so rows that differ in length never come to E10037.
    if flag == "dynamic_dims" and any(len(row) != holes for row in cells):
        reason = "Each setting needs to be consistent with the number of -1 in the input shape."
        raise AtcError("E10003", text, flag, reason)
    for value in (value for row in cells for value in row):
        if not (value.isascii() and value.isdigit()):
            if flag == "dynamic_dims":
                raise AtcError("E10001", value, f"--{flag}", "Dynamic dims must be a positive integer.")
            raise AtcError("E10003", text, flag, "It can only contain digits and separators")
    if flag == "dynamic_image_size" and any(len(row) != 2 for row in cells):
        raise AtcError("E10020", text)
    return [tuple(map(int, row)) for row in cells]


def _split(text: str) -> list[list[str]]:
    return [row.split(",") for row in text.split(";")]


def _in_order(dims: Dims, values: Dims) -> Dims:
    rest = iter(values)
    return tuple(next(rest) if dim == -1 else dim for dim in dims)
