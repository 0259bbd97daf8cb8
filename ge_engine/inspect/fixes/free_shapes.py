"""Free shapes: declared sizes that the graph does not need become names, and outputs are declared as they are."""

from __future__ import annotations

from dataclasses import replace

import onnx

from ops.unique import unique

from ...dynamic import values_of
from ...shapes import Shape, fix_inputs, infer_outputs, is_fixed, set_shape, shape_of
from ..axis_names import proposed
from .case import Case, declare, ports_of, shape_text, shapes_at, whole


def free_shapes(model: onnx.ModelProto, case: Case) -> list[str]:
    """Each axis that is free becomes a name; outputs that are declared wrong are declared as they are."""
    done = []
    taken = {dim for port in ports_of(model) for dim in port.dims or () if isinstance(dim, str)}
    for port in ports_of(model):
        axes = case.free.get(port.name, ())
        if not axes or port.dims is None:
            continue
        dims: list[int | str] = list(port.dims)
        for axis in axes:
            name = proposed(replace(port, dims=None), axis)
            dims[axis] = name if axis == 0 else unique(name, taken)
            taken.add(str(dims[axis]))
        (value,) = (value for value in model.graph.input if value.name == port.name)
        set_shape(value, tuple(dims))
        done.append(f"input '{port.name}' declared {port}: now [{', '.join(map(str, dims))}]")
    if done:
        del model.graph.value_info[:]
    return done + _declare_outputs(model, case, forget=bool(done))


def _declare_outputs(model: onnx.ModelProto, case: Case, forget: bool) -> list[str]:
    """Outputs whose declaration the graph contradicts. forget: the old declarations stand for other inputs."""
    done = []
    before = {value.name: shape_of(value) for value in model.graph.output}
    real = infer_outputs(model, whole(shapes_at(model, 1, case.trial)))
    open_ = _open_shapes(model)
    for value in model.graph.output:
        at_one, free = real.get(value.name), open_.get(value.name)
        if not is_fixed(at_one):
            continue
        declared = before[value.name]
        wrong = declared is None or len(declared) != len(at_one or ()) or _contradicted(declared, free or at_one or ())
        if (wrong or forget) and declare(value, free if free is not None else at_one or ()):
            done.append(f"output '{value.name}' declared {shape_text(declared)}: now {shape_text(shape_of(value))}")
    return done


def _contradicted(declared: Shape, real: Shape) -> bool:
    return any(isinstance(want, int) and want != got and got is not None for want, got in zip(declared, real))


def _open_shapes(model: onnx.ModelProto) -> dict[str, Shape | None]:
    """The outputs as inference sees them with the inputs as declared."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    fix_inputs(bare, {})
    values = values_of(bare)
    return {value.name: shape_of(values[value.name]) for value in model.graph.output}
