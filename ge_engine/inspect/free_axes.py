"""Free axes: sizes that a file declares though its graph takes others, as an example's shape that was written down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import onnx

from ..dynamic import values_of
from ..fold import folded
from ..shapes import Shape, is_fixed, shape_of
from .file_facts import Port, shape_of_port

_SPATIAL = {"NCHW": (2, 3), "NHWC": (1, 2)}
_BATCH, _ROWS, _COLUMNS = 2, 3, 2  # times the declared size

Axes = Mapping[str, tuple[int, ...]]


def free_axes(model: onnx.ModelProto, inputs: Sequence[Port]) -> Axes:
    """For each input, the declared axes that can be any size: the batch, and height and width of a picture.

    It is found without weights, by the shapes that follow; a run has to show that the answers are right, too.
    """
    shapes = {port.name: shape_of_port(port) for port in inputs}
    if not inputs or any(not shape for shape in shapes.values()):
        return {}
    declared: dict[str, Shape] = {name: shape for name, shape in shapes.items() if shape is not None}
    free: dict[str, tuple[int, ...]] = {}
    batches = {shape[0] for shape in declared.values()}
    if len(batches) == 1 and all(isinstance(batch, int) for batch in batches) and _takes_batches(model, declared):
        free.update(dict.fromkeys(declared, (0,)))
    for port in inputs:
        axes = [axis for axis in _SPATIAL.get(port.layout, ()) if isinstance(declared[port.name][axis], int)]
        if len(axes) == 2 and _values(model, {**declared, port.name: _scaled(declared[port.name], axes)}) is not None:
            free[port.name] = (*free.get(port.name, ()), *axes)
    return free


def worth_freeing(port: Port, free: Axes) -> tuple[int, ...]:
    """Those axes of an input that are better any size: the batch; and of an example, height and width, too.

    A batch of more than one is an example's: nobody means to serve ten pictures of 32 x 32 and no others.
    """
    axes = free.get(port.name, ())
    if 0 not in axes or port.dims is None:
        return ()
    return axes if port.dims[0] != 1 else (0,)


def _takes_batches(model: onnx.ModelProto, declared: Mapping[str, Shape]) -> bool:
    """Whether every output has as many rows as the inputs, at the declared number and at another."""
    for times in (1, _BATCH):
        values = _values(model, {name: _times(shape, 0, times) for name, shape in declared.items()})
        if values is None:
            return False
        rows = _times(next(iter(declared.values())), 0, times)[0]
        if any((shape_of(values[value.name]) or (None,))[0] != rows for value in model.graph.output):
            return False
    return True


def _values(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> Mapping[str, onnx.ValueInfoProto] | None:
    """The values of the graph at these shapes; None where they do not fit together."""
    try:
        graph = folded(model, shapes)
        values = values_of(graph)
    except OSError:  # no fault of the model's
        raise
    except Exception:  # neither onnx nor ONNX Runtime has a family of exceptions
        return None
    return values if all(_keeps_count(node, values) for node in graph.graph.node) else None


def _keeps_count(node: onnx.NodeProto, values: Mapping[str, onnx.ValueInfoProto]) -> bool:
    """Inference believes a Reshape whatever it says."""
    if node.op_type != "Reshape" or node.input[0] not in values:
        return True
    before, after = shape_of(values[node.input[0]]), shape_of(values[node.output[0]])
    if not is_fixed(before) or not is_fixed(after):
        return True
    return math.prod(before) == math.prod(after)  # type: ignore[arg-type]  # fixed


def _scaled(shape: Shape, axes: Sequence[int]) -> Shape:
    for axis, times in zip(axes, (_ROWS, _COLUMNS)):
        shape = _times(shape, axis, times)
    return shape


def _times(shape: Shape, axis: int, times: int) -> Shape:
    dim = shape[axis]
    return (*shape[:axis], dim * times if isinstance(dim, int) else dim, *shape[axis + 1 :])
