"""Fold constants: what static shapes make constant is written as a constant."""

from __future__ import annotations

import onnx

from ...dynamic import values_of
from ...fold import folded
from ...free_batch import folded_for_any_batch
from ...shapes import Shape, set_shape, shape_of
from ..made_constant import made_constant
from .case import Case, ports_of, shapes_at

_MOST_SHOWN = 8


def fold_constants(model: onnx.ModelProto, case: Case) -> list[str]:
    """At the sizes that were given, if they are one; the batch stays free. Errors: BuildError where it does not fit."""
    sizes = case.sizes[0] if len(case.sizes) == 1 else {}
    shapes = shapes_at(model, 1, sizes)
    result = _folded(model, shapes, case)
    gone = made_constant(model, result)
    if not gone:
        return []
    _redeclare(result, model)
    del result.metadata_props[:]
    result.metadata_props.extend(model.metadata_props)
    model.CopyFrom(result)
    shown = ", ".join(f"{count} {name}" for name, count in gone.most_common(_MOST_SHOWN))
    more = ", ..." if len(gone) > _MOST_SHOWN else ""
    where = f" at {', '.join(f'{name} {size}' for name, size in sizes.items())}" if sizes else ""
    return [f"{sum(gone.values())} nodes that static shapes make constant{where}: folded ({shown}{more})"]


def _folded(model: onnx.ModelProto, shapes: dict[str, Shape], case: Case) -> onnx.ModelProto:
    ports = ports_of(model)
    batched = bool(ports) and all(port.dims and isinstance(port.dims[0], str) for port in ports)
    samples = {name: tuple(dim for dim in shape[1:] if isinstance(dim, int)) for name, shape in shapes.items()}
    if batched and all(len(samples[name]) == len(shape) - 1 for name, shape in shapes.items()):
        return folded_for_any_batch(model, samples)
    declared = {value.name: shape_of(value) or () for value in model.graph.input}
    return folded(model, {name: (*declared[name][:1], *shape[1:]) for name, shape in shapes.items()})


def _redeclare(result: onnx.ModelProto, source: onnx.ModelProto) -> None:
    """Numbers where they are known now, and the old names elsewhere."""
    for value, old in zip(result.graph.input, source.graph.input):
        batch = (shape_of(old) or ())[:1]
        set_shape(value, (*batch, *(shape_of(value) or ())[1:]))
    values = values_of(result)
    for value, old in zip(result.graph.output, source.graph.output):
        real, named = shape_of(values[value.name]), shape_of(old)
        value.CopyFrom(old)
        if real is not None:
            names = named if named is not None and len(named) == len(real) else real
            set_shape(value, tuple(dim if isinstance(dim, int) else name for dim, name in zip(real, names)))
