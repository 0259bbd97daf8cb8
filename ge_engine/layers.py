"""Layers: every value inside a model, for given inputs, in the order in which the model makes them.

The graph is run in slices of a few nodes, one after the other. So each node runs once, and memory holds the weights and
values of one slice, and what later slices read: never all values of a model together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper

from ops import Array, ModelError
from ops.near import near

from . import runtime, weights
from .skeleton import read_skeleton

CHUNK = 16  # nodes of a slice: few enough for memory, and enough that loading slices is not what takes the time
_NAMES = {"float": "FLOAT", "double": "DOUBLE"}  # where ONNX Runtime's name of a type is not ONNX's


class Layer(NamedTuple):
    """A value, and the node that makes it. array: a list of them for a value that is a sequence."""

    name: str
    node: onnx.NodeProto
    array: Any


def layer_outputs(
    model: onnx.ModelProto | str | Path,
    feeds: Mapping[str, Array],
    names: Collection[str] | None = None,
    *,
    chunk: int = CHUNK,
    threads: int = 0,
) -> Iterator[Layer]:
    """Run a model on the CPU, and hand out its values, node by node.

    model: a file, or a graph whose heavy tensors are inside it or refer to files by absolute paths (as read_skeleton
    and read_graph leave them). feeds: its inputs, whole, with the batch; what it has not is left out. names: these
    values only; what they do not need is not run. chunk: how many nodes run together.
    Inside a whole run several nodes are often computed as one, so a value may differ from it in the last bits.
    Errors: ModelError for a name or an input that is not there, and for a node that fails, with the runtime's reason.
    """
    source = model if isinstance(model, onnx.ModelProto) else read_skeleton(str(model)).model
    return _Slices(source, feeds, None if names is None else frozenset(names), threads).run(chunk)


class _Slices:
    """A model, and how far it has been run.

    values: those that are still read, or were given. types: of every value so far, as a graph declares its inputs.
    """

    def __init__(
        self, model: onnx.ModelProto, feeds: Mapping[str, Array], names: frozenset[str] | None, threads: int
    ) -> None:
        self.model = model
        self.names = names
        self.threads = threads
        made = [name for node in model.graph.node for name in node.output if name]
        for name in sorted(names or ()):
            if name not in made:
                raise ModelError(f"no node makes {name!r}", fix=near(name, made))
        self.nodes = _needed(model.graph.node, names)
        self.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        self.types = {value.name: value for value in model.graph.input if value.name not in self.initializers}
        self.values: dict[str, Any] = {name: feeds[name] for name in self.types if name in feeds}

    def run(self, chunk: int) -> Iterator[Layer]:
        last_use = {name: index for index, node in enumerate(self.nodes) for name in _reads(node)}
        for start in range(0, len(self.nodes), chunk):
            nodes = self.nodes[start : start + chunk]
            later = {name for name, index in last_use.items() if index >= start + chunk}
            made = {name: node for node in nodes for name in node.output if name}
            self._run_slice(nodes, [name for name in made if name in later or self._is_wanted(name)])
            self._keep(later | made.keys())
            yield from (Layer(name, node, self.values[name]) for name, node in made.items() if self._is_wanted(name))
            self._keep(later)

    def _keep(self, names: Set[str]) -> None:
        self.values = {name: value for name, value in self.values.items() if name in names}

    def _is_wanted(self, name: str) -> bool:
        return self.names is None or name in self.names

    def _run_slice(self, nodes: Sequence[onnx.NodeProto], outputs: list[str]) -> None:
        """Add these outputs to the values."""
        made = {name for node in nodes for name in node.output}
        read = {name for node in nodes for name in _reads(node)} - made
        absent = sorted(name for name in read if name in self.types and name not in self.values)
        if absent:
            raise ModelError(f"the input {absent[0]!r} has no value", fix=f"give a value to {', '.join(absent)}")
        feeds = {name: self.values[name] for name in read if name in self.values}
        part = self._graph(nodes, feeds, sorted(read & self.initializers.keys()), outputs)
        try:
            session = runtime.session(part, self.threads)
            results = runtime.run(session, outputs, feeds)
        except Exception as error:  # ONNX Runtime has no family of exceptions
            if len(nodes) > 1:  # find the one; or, where each alone can do it, have all that is needed
                for node in nodes:
                    self._run_slice([node], [name for name in node.output if name])
                return
            raise ModelError(
                f"node '{nodes[0].name}' ({nodes[0].op_type}) fails: {runtime.first_line(error)}",
                fix="give inputs that the model takes",
            ) from error
        self.values.update(zip(outputs, results))
        self.types.update((value.name, _type(value.name, value.type)) for value in session.get_outputs())

    def _graph(
        self, nodes: Sequence[onnx.NodeProto], feeds: Mapping[str, Any], held: Sequence[str], outputs: Sequence[str]
    ) -> onnx.ModelProto:
        """A slice as a model of its own, its weights inside."""
        initializers = []
        for tensor in (self.initializers[name] for name in held):
            if weights.is_heavy(tensor):
                tensor = deepcopy(tensor)
                weights.load(tensor)
            initializers.append(tensor)
        inputs = [_shaped(self.types[name], value) for name, value in feeds.items()]
        graph = helper.make_graph(
            nodes, "slice", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs], initializers
        )
        return helper.make_model(
            graph,
            opset_imports=self.model.opset_import,
            ir_version=self.model.ir_version,
            functions=self.model.functions,
        )


def _needed(nodes: Sequence[onnx.NodeProto], names: frozenset[str] | None) -> list[onnx.NodeProto]:
    """Those that these values depend on, in order."""
    if names is None:
        return list(nodes)
    wanted, kept = set(names), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted |= _reads(node)
    return kept[::-1]


def _reads(node: onnx.NodeProto) -> set[str]:
    """What a node reads, also inside its subgraphs (with names that are theirs alone, which do no harm)."""
    names = set(node.input)
    for attribute in node.attribute:
        for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            names |= weights.used_names(inner)
    return names - {""}


def _type(name: str, text: str) -> onnx.ValueInfoProto:
    """A value of a type as ONNX Runtime names it: tensor(float), seq(tensor(int64))."""
    kind, _, inner = text.rstrip(")").rpartition("(")
    element = TensorProto.DataType.Value(_NAMES.get(inner, inner.upper()))
    if kind == "tensor":
        return helper.make_tensor_value_info(name, element, None)
    if kind == "seq(tensor":
        return helper.make_tensor_sequence_value_info(name, element, None)
    raise ModelError(f"the value {name!r} is of type {text}", fix="export the model without optional values or maps")


def _shaped(declared: onnx.ValueInfoProto, value: Any) -> onnx.ValueInfoProto:
    """With the shape that it has: a runtime does more for what it knows."""
    if not declared.type.HasField("tensor_type"):
        return declared
    return helper.make_tensor_value_info(declared.name, declared.type.tensor_type.elem_type, list(value.shape))
