"""Case: what a fix may know of the model that it mends, beside the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx

from ...shapes import Shape, set_shape, shape_of
from ..axis_names import Sizes, shape_at
from ..file_facts import Port, port_of


@dataclass(frozen=True)
class Case:
    """sizes: those that the user gave, one for each H x W (or length) gear.

    free: axes that the declaration alone fixes.
    trial: by its place ("x.2"), a size for each axis that varies or is free, at which the original is known to run.
    """

    path: str
    sizes: Sequence[Sizes] = ()
    free: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    trial: Sizes = field(default_factory=dict)


def ports_of(model: onnx.ModelProto) -> tuple[Port, ...]:
    """The inputs of a model as it is by now."""
    return tuple(port_of(value, model.graph) for value in model.graph.input)


def shapes_at(model: onnx.ModelProto, batch: int, sizes: Sizes) -> dict[str, Shape]:
    """The shapes of its inputs at a batch size and these sizes; names where there is none."""
    return {port.name: shape_at(port, batch, sizes)[0] for port in ports_of(model)}


def rename_reads(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Let all nodes read another value, those inside control flow, too."""
    for node in graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                rename_reads(inner, old, new)


def rename_made(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Give a value of the main graph another name where it is made and read; what is declared of it goes."""
    for node in graph.node:
        node.output[:] = [new if name == old else name for name in node.output]
    rename_reads(graph, old, new)
    kept = [value for value in graph.value_info if value.name != old]
    del graph.value_info[:]
    graph.value_info.extend(kept)


def names_of(graph: onnx.GraphProto) -> set[str]:
    """Every name of a value in the main graph."""
    made = {name for node in graph.node for name in node.output}
    return made | {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}


def declare(value: onnx.ValueInfoProto, shape: Shape) -> bool:
    """Declare a shape; whether that is another than before."""
    if shape_of(value) == shape:
        return False
    set_shape(value, shape)
    return True


def whole(shapes: Mapping[str, Shape]) -> dict[str, tuple[int, ...]]:
    """Shapes of numbers only: 1 where there is none."""
    return {name: tuple(dim if isinstance(dim, int) else 1 for dim in shape) for name, shape in shapes.items()}


def shape_text(shape: Shape | None) -> str:
    """As [batch, 3, ?]."""
    return "nothing" if shape is None else f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"
