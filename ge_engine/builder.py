"""GraphBuilder: where `lower` writes. It makes one ONNX graph with a leading, symbolic batch axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ops import Array, Counted, SpecError, TensorSpec
from ops.unique import unique

BATCH = "batch"  # the symbolic name of the leading axis
IR_VERSION = 8


class GraphValue:
    """A named tensor of the graph under construction.

    same_for_all: it has a leading axis of 1 in place of the batch, being made of constants only.
    """

    def __init__(self, name: str, spec: TensorSpec | None = None, *, same_for_all: bool = False) -> None:
        self.name = name
        self.same_for_all = same_for_all
        self._spec = spec

    @property
    def spec(self) -> TensorSpec:
        assert self._spec is not None, f"{self.name} is a value between two ONNX nodes; its spec is not known"
        return self._spec


class GraphBuilder:
    """Collects nodes and initializers; `model()` closes the graph.

    opset: 13 to 18. prefix: set for each op in turn, so that no two nodes share a name.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.prefix = ""
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.domains: dict[str, int] = {}  # of operators that are not ONNX's own
        self._names: set[str] = set()
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def unique(self, name: str) -> str:
        """`name`, or with a number behind it where it is taken; taken from now on."""
        free = unique(name, self._names)
        self._names.add(free)
        return free

    def reserve(self, name: str) -> None:
        """Keep a name that the graph has outside from being taken inside."""
        assert name not in self._names, name
        self._names.add(name)

    def input(self, name: str, spec: TensorSpec) -> GraphValue:
        self.reserve(name)
        self._inputs.append(value_info(name, spec))
        return GraphValue(name, spec)

    def op(self, op_type: str, *inputs: Any, **attributes: Any) -> GraphValue:
        (value,) = self.ops(op_type, 1, *inputs, **attributes)
        return value

    def ops(self, op_type: str, count: int, *inputs: Any, **attributes: Any) -> tuple[GraphValue, ...]:
        name = self.unique(f"{self.prefix}{op_type}")
        outputs = [self.unique(f"{name}_out") for _ in range(count)]
        names = [value.name for value in inputs]
        self.nodes.append(helper.make_node(op_type, names, outputs, name=name, **attributes))
        return tuple(map(GraphValue, outputs))

    def constant(self, array: Array) -> GraphValue:
        name = self.unique(f"{self.prefix}constant")
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return GraphValue(name)

    def same_for_all(self, array: Array) -> GraphValue:
        """What every sample of the batch is given: one sample, without a batch axis."""
        return GraphValue(self.constant(array[None]).name, TensorSpec(array.dtype, array.shape), same_for_all=True)

    def batched(self, value: GraphValue) -> GraphValue:
        """The value with one row for each sample: one that is the same for all is expanded."""
        if not value.same_for_all:
            return value
        rank = value.spec.rank
        first = self.op("Gather", self.op("Shape", self._inputs[0]), self.constant(np.array([0], np.int64)))
        shape = self.op("Concat", first, self.constant(np.ones(rank, np.int64)), axis=0)
        return GraphValue(self.op("Expand", value, shape).name, value.spec)

    def output(self, name: str, value: Any, spec: TensorSpec) -> None:
        """Give a value the name it has outside the graph; one that is not reserved yet."""
        if name not in self._names:
            self.reserve(name)
        node = helper.make_node("Identity", [value.name], [name], name=self.unique(f"{name}_output"))
        self.nodes.append(node)
        self._outputs.append(value_info(name, spec))

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "stage", self._inputs, self._outputs, self.initializers)
        opsets = [helper.make_opsetid(domain, version) for domain, version in {"": self.opset, **self.domains}.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="gepipe")


def value_info(name: str, spec: TensorSpec) -> onnx.ValueInfoProto:
    """One tensor with its batch axis; named and graded dims stay names."""
    if spec.dtype == "bytes":
        raise SpecError(f"{name}: {spec}: bytes cannot enter a graph", fix="decode or tokenize them on the host")
    dims = [dim if isinstance(dim, int) else dim.limit if isinstance(dim, Counted) else str(dim) for dim in spec.shape]
    element = helper.np_dtype_to_tensor_dtype(spec.numpy)
    return helper.make_tensor_value_info(name, element, [BATCH, *dims])
