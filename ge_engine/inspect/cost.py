"""Cost: what a graph of known shapes computes and holds.

FLOPs: two for each multiplication with its addition (Conv, MatMul, Gemm, ...), one for each element that any other
operator calculates; what only moves data (Reshape, Transpose, Concat, ...) counts nothing. Peak: the most that is alive
at once, each value from the node that makes it to the last that reads it; a view counts as a copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import onnx

from ..shapes import Shape, is_fixed, shape_of
from ..weights import bytes_of, used_names

Sizes = Mapping[str, Shape | None]

_MOVES = frozenset({
    "Cast", "CastLike", "Concat", "Constant", "ConstantOfShape", "DepthToSpace", "Dropout", "Expand", "EyeLike",
    "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "NonZero", "OneHot", "Pad", "Range", "Reshape",
    "ScatterElements", "ScatterND", "Shape", "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose",
    "Trilu", "Unsqueeze",
})  # fmt: skip

_UNKNOWN = frozenset({"Attention", "DFT", "DeformConv", "If", "Loop", "STFT", "Scan", "SequenceMap"})  # no rule fits


def flops_of(node: onnx.NodeProto, sizes: Sizes) -> int | None:
    """What a node computes; None where a shape that it takes is not known, or nobody knows what it does."""
    if node.domain not in ("", "ai.onnx") or node.op_type in _UNKNOWN:
        return None
    if node.op_type in _MOVES:
        return 0
    outputs = [sizes.get(name) for name in node.output if name]
    inputs = [sizes.get(name) for name in node.input if name]
    if not all(map(is_fixed, (*outputs, *inputs))):
        return None
    count = _COUNTS.get(node.op_type, _elementwise)
    return count(node, [_fixed(shape) for shape in inputs], [_fixed(shape) for shape in outputs])


def peak_bytes(graph: onnx.GraphProto, values: Mapping[str, onnx.ValueInfoProto]) -> int | None:
    """The most bytes that inputs and values hold at once, weights left out; None where a shape is not known.

    Inputs and outputs are held for the whole run, as a server's backend does.
    """
    whole_run = {value.name for value in (*graph.input, *graph.output)}
    sizes = {name: nbytes_of(value) for name, value in values.items()}
    made = [name for node in graph.node for name in node.output if name]
    if any(sizes.get(name) is None for name in (*whole_run, *made)):
        return None
    last = {name: step for step, node in enumerate(graph.node) for name in used_names(onnx.GraphProto(node=[node]))}
    always = sum(sizes[name] or 0 for name in whole_run)
    alive = peak = 0
    ends: dict[int, int] = {}
    for step, node in enumerate(graph.node):
        for name in node.output:
            if name and name not in whole_run:
                alive += sizes[name] or 0
                end = last.get(name, step)
                ends[end] = ends.get(end, 0) + (sizes[name] or 0)
        peak = max(peak, alive)
        alive -= ends.pop(step, 0)
    return always + peak


def moved_bytes(node: onnx.NodeProto, values: Mapping[str, onnx.ValueInfoProto]) -> int:
    """What a node reads and writes, as far as it is known; a weight is read by each node that takes it."""
    names = {name for name in (*node.input, *node.output) if name}
    return sum(nbytes_of(values[name]) or 0 for name in names if name in values)


def nbytes_of(value: onnx.ValueInfoProto) -> int | None:
    """The bytes of a value; None where its shape or type is not known."""
    shape, element = shape_of(value), value.type.tensor_type.elem_type
    if not is_fixed(shape) or element in (0, onnx.TensorProto.STRING):
        return None
    return bytes_of(math.prod(_fixed(shape)), element)


Dims = tuple[int, ...]
_Count = Callable[[onnx.NodeProto, list[Dims], list[Dims]], int]


def _fixed(shape: Shape | None) -> Dims:
    return tuple(dim for dim in shape or () if isinstance(dim, int))


def _elementwise(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    return sum(map(math.prod, outputs))


def _reduction(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    return math.prod(inputs[0])


def _convolution(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    """A weight [out, in / group, kernel...], applied once for each element of the output."""
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1][1:])


def _transposed(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    """A weight [in, out / group, kernel...], applied once for each element of the input."""
    return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])


def _quantized(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    """x, its scale and zero point, then the weight."""
    return 2 * math.prod(outputs[0]) * math.prod(inputs[3][1:])


def _product(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    return 2 * math.prod(outputs[0]) * inputs[0][-1]


def _gemm(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    transposed = any(one.name == "transA" and one.i for one in node.attribute)
    return 2 * math.prod(outputs[0]) * inputs[0][0 if transposed else -1]


def _einsum(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    """Each index once. An ellipsis counts as the output that it makes."""
    equation = next((one.s.decode() for one in node.attribute if one.name == "equation"), "").replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    if "..." in equation or any(len(term) != len(shape) for term, shape in zip(terms, inputs)):
        return sum(map(math.prod, outputs))
    sizes = {index: size for term, shape in zip(terms, inputs) for index, size in zip(term, shape)}
    return 2 * math.prod(sizes.values())


def _pool(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    kernel = next((list(one.ints) for one in node.attribute if one.name == "kernel_shape"), [])
    return math.prod(outputs[0]) * math.prod(kernel)


def _recurrent(node: onnx.NodeProto, inputs: list[Dims], outputs: list[Dims]) -> int:
    """x [steps, batch, in], w [directions, gates * hidden, in], r [directions, gates * hidden, hidden]."""
    steps = inputs[0][0] * inputs[0][1]
    return 2 * steps * (math.prod(inputs[1]) + math.prod(inputs[2]))


_COUNTS: dict[str, _Count] = {
    "Conv": _convolution, "ConvInteger": _convolution, "ConvTranspose": _transposed, "QLinearConv": _quantized,
    "MatMul": _product, "MatMulInteger": _product, "QLinearMatMul": _product, "Gemm": _gemm, "Einsum": _einsum,
    "MaxPool": _pool, "AveragePool": _pool, "LpPool": _pool, "GlobalAveragePool": _reduction,
    "GlobalMaxPool": _reduction, "LSTM": _recurrent, "GRU": _recurrent, "RNN": _recurrent,
    **{f"Reduce{kind}": _reduction for kind in (
        "L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")},
    "ArgMax": _reduction, "ArgMin": _reduction,
}  # fmt: skip
