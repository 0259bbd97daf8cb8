"""Gears, written in GE's options: every shape that the inputs of a graph may have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ops import SpecError

from .options import Options
from .ports import Port

Shape = tuple[int, ...]
FEWEST, MOST = 2, 100  # gears of one graph
GEAR_KEYS = ("ge.inputShape", "ge.dynamicDims", "ge.dynamicNodeType")
_DIM = re.compile(r"-1|[0-9]{1,18}")
_ROW = re.compile(r"[0-9]{1,18}(,[0-9]{1,18})*")


class InputShape(NamedTuple):
    """The dims of an input in ge.inputShape, -1 for one that each gear gives."""

    name: str
    dims: Shape


@dataclass(frozen=True)
class Gears:
    """shapes: for each gear, the whole shape of every input, in the model's order."""

    shapes: tuple[tuple[Shape, ...], ...]

    @classmethod
    def of(cls, options: Options, inputs: Sequence[Port]) -> Gears | None:
        """The gears that the options give; None where they give none.

        Errors: SpecError (V16) for what GE refuses when it compiles, or reads otherwise than it is meant.
        """
        shape, values, kind = (options.get(key) for key in GEAR_KEYS)
        if shape is None and values is None:
            return None
        if shape is None or values is None or kind is None:
            missing = ", ".join(key for key, value in zip(GEAR_KEYS, (shape, values, kind)) if value is None)
            raise _wrong(f"gears without {missing}", "give all three: without one GE runs a dynamic graph")
        if kind != "1":
            raise _wrong(f"ge.dynamicNodeType is {kind!r}", 'write "1": the inputs of an ONNX graph')
        patterns = _patterns(shape, inputs)
        rows = _rows(values, sum(pattern.count(-1) for pattern in patterns.values()))
        return cls(tuple(_filled(row, patterns, inputs) for row in rows))

    def batches(self) -> frozenset[int]:
        """The sizes of the first axis, where it is the same for all inputs."""
        firsts = ({shape[0] for shape in shapes if shape} for shapes in self.shapes)
        return frozenset(first.pop() for first in firsts if len(first) == 1)

    def check(self, shapes: Sequence[Shape], inputs: Sequence[Port]) -> None:
        """Errors: SpecError (E13025) for shapes that are no gear."""
        if tuple(shapes) not in self.shapes:
            got = "; ".join(f"{port.name} {list(shape)}" for port, shape in zip(inputs, shapes))
            known = "; ".join(", ".join(str(list(shape)) for shape in gear) for gear in self.shapes[:8])
            more = f"; {len(self.shapes) - 8} more" if len(self.shapes) > 8 else ""
            raise SpecError(
                f"E13025: The input tensor dimension [{got}] is not in the dynamic dimension list configured by "
                f"dynamic_dims: [{known}{more}]",
                fix="pad to a gear before the request, or add the gear; the real backend loses a stream on this",
            )


def read_input_shape(text: str) -> list[InputShape]:
    """ge.inputShape, "x:-1,3,224,224;mask:-1,52".

    Errors: ValueError with the part that GE does not read.
    """
    shapes = []
    for part in text.split(";"):
        name, _, dims = part.rpartition(":")
        values = dims.split(",") if dims else []
        if not name or not all(map(_DIM.fullmatch, values)):
            raise ValueError(part)
        shapes.append(InputShape(name, tuple(map(int, values))))
    return shapes


def read_dynamic_dims(text: str) -> list[Shape]:
    """ge.dynamicDims, "1;2;4" or "224,224;336,336": for each gear, a value for every -1 of ge.inputShape.

    Errors: ValueError for a text that GE does not read.
    """
    rows = text.split(";")
    if not all(map(_ROW.fullmatch, rows)):
        raise ValueError(text)
    return [tuple(map(int, row.split(","))) for row in rows]


def _patterns(text: str, inputs: Sequence[Port]) -> dict[str, Shape]:
    try:
        shapes = read_input_shape(text)
    except ValueError as error:
        fix = 'write "name:-1,3,224,224", digits and no blanks'
        raise _wrong(f"ge.inputShape has {str(error)!r}", fix) from None
    names, wanted = [name for name, _ in shapes], sorted((port.name for port in inputs), key=str.encode)
    if names != wanted:
        raise _wrong(
            f"E10001: ge.inputShape lists {', '.join(names)}; the inputs are {', '.join(wanted)}",
            "list every input, sorted by name: GE matches them by place",
        )
    patterns = dict(shapes)
    for port in inputs:
        if patterns[port.name] != port.dims:
            raise _wrong(
                f"ge.inputShape has {list(patterns[port.name])} for {port.name}, the model {list(port.dims)}",
                "write the model's own dims, -1 for each that varies: a number does not pin one",
            )
    return patterns


def _rows(text: str, width: int) -> list[Shape]:
    try:
        rows = read_dynamic_dims(text)
    except ValueError:
        raise _wrong(f"ge.dynamicDims is {text!r}", 'write "1;2;4" or "224,224;336,336", no blanks') from None
    if len(rows) < FEWEST:
        raise _wrong(f"E10035: ge.dynamicDims has {len(rows)} profiles, which is less than the minimum {FEWEST}", "")
    if len(rows) > MOST:
        raise _wrong(f"E10036: ge.dynamicDims has {len(rows)} profiles, the maximum is {MOST}", "use fewer gears")
    if len({len(row) for row in rows}) > 1:
        raise _wrong(f"E10037: the profiles of ge.dynamicDims {text!r} differ in length", "give each the same dims")
    if any(value < 1 for row in rows for value in row):
        raise _wrong(f"E10038: ge.dynamicDims {text!r} has a size below 1", "give sizes of at least 1")
    if len(set(rows)) < len(rows):
        raise _wrong(f"E10039: ge.dynamicDims {text!r} has a profile twice", "give each once")
    if len(rows[0]) != width:
        raise _wrong(
            f"E10045: a profile of ge.dynamicDims has {len(rows[0])} values, ge.inputShape has {width} dims of -1",
            "give each profile a value for every -1, in the order of ge.inputShape",
        )
    return rows


def _filled(row: Shape, patterns: Mapping[str, Shape], inputs: Sequence[Port]) -> tuple[Shape, ...]:
    values = iter(row)
    filled = {name: tuple(next(values) if dim == -1 else dim for dim in pattern) for name, pattern in patterns.items()}
    return tuple(filled[port.name] for port in inputs)


def _wrong(message: str, fix: str) -> SpecError:
    return SpecError(message, fix=fix or "give at least two gears, or none and static_model", rule="V16")
