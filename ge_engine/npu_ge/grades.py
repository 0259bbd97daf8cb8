"""Grades: the gears of a graph, written in GE's options: every shape that the inputs may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops import SpecError

from .options import Options
from .ports import Port

Shape = tuple[int, ...]
FEWEST, MOST = 2, 100
_KEYS = ("ge.inputShape", "ge.dynamicDims", "ge.dynamicNodeType")


@dataclass(frozen=True)
class Grades:
    """shapes: for each gear, the whole shape of every input, in the model's order."""

    shapes: tuple[tuple[Shape, ...], ...]

    @classmethod
    def of(cls, options: Options, inputs: Sequence[Port]) -> Grades | None:
        """The gears that the options give; None where they give none.

        Errors: SpecError (V16) for what GE refuses when it compiles, or reads otherwise than it is meant.
        """
        shape, values, kind = (options.get(key) for key in _KEYS)
        if shape is None and values is None:
            return None
        if shape is None or values is None or kind is None:
            missing = ", ".join(key for key, value in zip(_KEYS, (shape, values, kind)) if value is None)
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


def _patterns(text: str, inputs: Sequence[Port]) -> dict[str, Shape]:
    """ge.inputShape, "x:-1,3,224,224;mask:-1,52", by name."""
    patterns: dict[str, Shape] = {}
    for part in text.split(";"):
        name, colon, dims = part.rpartition(":")
        try:
            shape = tuple(_number(dim, -1) for dim in dims.split(",")) if dims else ()
        except ValueError:
            shape, colon = (), ""
        if not colon:
            raise _wrong(f"ge.inputShape has {part!r}", 'write "name:-1,3,224,224", digits and no blanks')
        patterns[name] = shape
    wanted = sorted((port.name for port in inputs), key=str.encode)
    if list(patterns) != wanted:
        raise _wrong(
            f"E10001: ge.inputShape lists {', '.join(patterns)}; the inputs are {', '.join(wanted)}",
            "list every input, sorted by name: GE matches them by place",
        )
    for port in inputs:
        if patterns[port.name] != port.dims:
            raise _wrong(
                f"ge.inputShape has {list(patterns[port.name])} for {port.name}, the model {list(port.dims)}",
                "write the model's own dims, -1 for each that varies: a number does not pin one",
            )
    return patterns


def _rows(text: str, width: int) -> list[Shape]:
    """ge.dynamicDims, "1;2;4" or "224,224;336,336"."""
    try:
        rows = [tuple(_number(value) for value in row.split(",")) for row in text.split(";")]
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


def _number(text: str, also: int | None = None) -> int:
    if text == str(also):
        return -1
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def _wrong(message: str, fix: str) -> SpecError:
    return SpecError(message, fix=fix or "give at least two gears, or none and static_model", rule="V16")
