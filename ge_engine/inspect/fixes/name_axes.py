"""Name axes: every axis that varies gets a name that npu_ge reads, and output axes are written by those names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import onnx

from ops import SpecError
from ops.unique import unique

from ...dims import law, legal_names, rewritten
from ...shapes import Shape, infer_outputs, is_fixed, set_shape, shape_of
from ..axis_names import is_batch, place, proposed
from ..file_facts import Port
from .case import Case, ports_of, shape_text, shapes_at, whole

# Times the trial sizes: neighbouring axes vary on their own; and how much more: every rest of a division by 8 shows.
_TIMES = (
    *((1, 1, 0), (2, 1, 0), (1, 2, 0), (3, 2, 0), (2, 3, 0), (4, 5, 0)),
    *((2, 1, more) for more in (*range(1, 9), 13, 22, 35)),
)


def name_axes(model: onnx.ModelProto, case: Case) -> list[str]:
    """Input axes, by their own names or by what they probably are; then output axes, by those."""
    done = []
    ports = ports_of(model)
    names = _names(ports)
    new = legal_names(names.values())
    for port, value in zip(ports, model.graph.input):
        dims = tuple(
            dim if isinstance(dim, int) else new[names[dim or place(port, axis)]]
            for axis, dim in enumerate(port.dims or ())
        )
        if port.dims is not None and dims != port.dims:
            set_shape(value, dims)
            done.append(f"input '{port.name}' {port}: now [{', '.join(map(str, dims))}]")
    known = {old: new[wanted] for old, wanted in names.items()}
    del model.graph.value_info[:]  # they may use the old names
    return done + _name_outputs(model, case, known)


def _names(ports: tuple[Port, ...]) -> dict[str, str]:
    """For each name, or place of an axis without one, the name that it should have. What was told apart stays apart."""
    names: dict[str, str] = {}
    for port in ports:
        for axis, dim in enumerate(port.dims or ()):
            known = dim or place(port, axis)
            if isinstance(dim, int) or known in names:
                continue
            wanted = proposed(port, axis)
            is_own = wanted == dim or (not dim and is_batch(port, axis))
            names[str(known)] = wanted if is_own else unique(wanted, {*names.values()})
    return names


def _name_outputs(model: onnx.ModelProto, case: Case, known: Mapping[str, str]) -> list[str]:
    if not known:
        return []
    done = []
    sizes, shapes = _measured(model, case)
    for value in model.graph.output:
        before = shape_of(value)
        seen = [shape.get(value.name) for shape in shapes]
        if before is None or not seen or any(not is_fixed(shape) or len(shape or ()) != len(before) for shape in seen):
            continue
        columns = zip(*(_numbers(shape) for shape in seen))
        after = tuple(_named(dim, column, sizes, known) for dim, column in zip(before, columns))
        if after != before:
            set_shape(value, after)
            done.append(f"output '{value.name}' {shape_text(before)}: now {shape_text(after)}")
    return done


def _named(
    dim: int | str | None, values: Sequence[int], sizes: Sequence[Mapping[str, int]], known: Mapping[str, str]
) -> int | str | None:
    """What an output axis is to be called: nothing else where it is a number, or no law is found."""
    if isinstance(dim, int) or len(set(values)) == 1:
        return dim if isinstance(dim, int) else values[0]
    written = [dim] if dim else []
    with suppress(SpecError):
        written.insert(0, rewritten(dim or "", known))
    found = law(values, sizes, written)
    return dim if found is None else found


def _measured(model: onnx.ModelProto, case: Case) -> tuple[list[Mapping[str, int]], list[Mapping[str, Shape | None]]]:
    """The sizes of the named input axes, and the outputs' shapes there, at several sizes."""
    start: dict[str, int] = {}
    batch: set[str] = set()
    for port in ports_of(model):
        for axis, dim in enumerate(port.dims or ()):
            if isinstance(dim, str):
                start.setdefault(dim, case.trial.get(place(port, axis), 1))
                batch.update([dim] if axis == 0 else [])
    sizes: list[Mapping[str, int]] = []
    shapes: list[Mapping[str, Shape | None]] = []
    for rows, (even, odd, more) in enumerate(_TIMES, 2):
        at = {name: size * (odd if index % 2 else even) + more for index, (name, size) in enumerate(start.items())}
        at |= dict.fromkeys(batch, rows)
        try:
            shapes.append(infer_outputs(model, whole(shapes_at(model, rows, at))))
        except Exception:  # onnx has no family of exceptions; the graph does not take every size
            continue
        sizes.append(at)
    return sizes, shapes


def _numbers(shape: Shape | None) -> tuple[int, ...]:
    return tuple(dim for dim in shape or () if isinstance(dim, int))
