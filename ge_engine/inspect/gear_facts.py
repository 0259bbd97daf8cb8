"""Gear facts: one gear's graph, folded as the compiler would have it: what it computes, holds, and leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import onnx
from onnx import TensorProto

from ops import BuildError

from ..dynamic import Chain, dynamic_chains, values_of
from ..fold import folded
from ..gears import Gear
from ..runtime import first_line
from ..shapes import Shape, shape_of
from .cost import flops_of, moved_bytes, nbytes_of, peak_bytes
from .made_constant import made_constant
from .operators import ARITHMETIC, ON_HOST

Shapes = Mapping[str, Shape]


@dataclass(frozen=True)
class GearFacts:
    """One gear. error: why the graph does not take it; then all else is empty.

    flops, peak: None where a shape stays open; flops also where nobody knows what an operator computes; known_flops
    then counts the rest. moved: bytes that all
    nodes read and write. inputs, outputs: bytes that cross to the device and back. largest: the largest value and its
    bytes. dynamic: for each value whose shape stays open, the nodes from the one that causes it. on_host, int64: types
    that are still there once what static shapes make constant is folded. folds: what that was, by type.
    """

    gear: Gear
    shapes: Shapes
    error: str = ""
    output_shapes: Mapping[str, Shape | None] = field(default_factory=dict)
    operators: Mapping[str, int] = field(default_factory=dict)
    known_flops: int = 0
    open_nodes: int = 0
    moved: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    peak: int | None = None
    largest: tuple[str, int] = ("", 0)
    dynamic: Mapping[str, Chain] = field(default_factory=dict)
    on_host: frozenset[str] = frozenset()
    int64: frozenset[str] = frozenset()
    folds: Mapping[str, int] = field(default_factory=dict)

    @property
    def num_nodes(self) -> int:
        return sum(self.operators.values())

    @property
    def flops(self) -> int | None:
        return None if self.open_nodes else self.known_flops


def gear_facts(model: onnx.ModelProto, gear: Gear, shapes: Shapes) -> GearFacts:
    """The facts of a model at these input shapes."""
    try:
        graph = folded(model, shapes)
        values = values_of(graph)
    except BuildError as error:
        return GearFacts(gear, shapes, error.message)
    except OSError:  # no fault of the model's
        raise
    except Exception as error:  # onnx has no family of exceptions
        return GearFacts(gear, shapes, first_line(error))
    return replace(_facts(graph, values, gear, shapes), folds=made_constant(model, graph))


def _facts(graph: onnx.ModelProto, values: Mapping[str, onnx.ValueInfoProto], gear: Gear, shapes: Shapes) -> GearFacts:
    nodes = graph.graph.node
    known = {**values, **{tensor.name: _declared(tensor) for tensor in graph.graph.initializer}}
    sizes = {name: shape_of(value) for name, value in known.items()}
    flops = [flops_of(node, sizes) for node in nodes]
    made = {name: nbytes_of(values[name]) or 0 for node in nodes for name in node.output if name}
    nbytes = {name: nbytes_of(value) or 0 for name, value in known.items()}
    int64 = {name for name, value in known.items() if value.type.tensor_type.elem_type == TensorProto.INT64}
    own = [node for node in nodes if node.domain in ("", "ai.onnx")]
    return GearFacts(
        gear,
        shapes,
        output_shapes={value.name: sizes.get(value.name) for value in graph.graph.output},
        operators=Counter(node.op_type for node in nodes),
        known_flops=sum(count or 0 for count in flops),
        open_nodes=flops.count(None),
        moved=sum(moved_bytes(node, known) for node in nodes),
        input_bytes=sum(nbytes[value.name] for value in graph.graph.input),
        output_bytes=sum(nbytes[value.name] for value in graph.graph.output),
        peak=peak_bytes(graph.graph, known),
        largest=max(made.items(), key=lambda item: item[1], default=("", 0)),
        dynamic=dynamic_chains(graph, values),
        on_host=frozenset(node.op_type for node in own if node.op_type in ON_HOST),
        int64=frozenset(
            node.op_type for node in own if node.op_type in ARITHMETIC and int64.intersection(node.input[:1])
        ),
    )


def _declared(tensor: TensorProto) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
