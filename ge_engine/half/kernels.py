"""Kernels: what an operator of ONNX does to fp16 values on an NPU."""

from __future__ import annotations

from enum import Enum

import onnx


class Kind(Enum):
    """CUBE: multiplies matrices, fp16 in, fp32 accumulated. VECTOR: makes new values. MOVES: only hands values on, so
    what is fp16 stays fp16. WIDE: has no fp16 kernel, or one whose type the graph itself says: it is left alone.
    """

    CUBE = "cube"
    VECTOR = "vector"
    MOVES = "moves"
    WIDE = "wide"


_CUBE = {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul"}
_MOVES = {
    "Abs", "ArgMax", "ArgMin", "Clip", "Compress", "Concat", "DepthToSpace", "Dropout", "Equal", "Expand", "Flatten",
    "Gather", "GatherElements", "GatherND", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Identity", "IsInf", "IsNaN",
    "Less", "LessOrEqual", "Max", "MaxPool", "MaxUnpool", "Min", "Neg", "NonZero", "OneHot", "Pad", "ReduceMax",
    "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape", "Sign",
    "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where",
}  # fmt: skip
_WIDE = {
    "Bernoulli", "Cast", "CastLike", "Constant", "ConstantOfShape", "ConvInteger", "DequantizeLinear", "Det",
    "DynamicQuantizeLinear", "EyeLike", "If", "Loop", "MatMulInteger", "Multinomial", "NonMaxSuppression",
    "QLinearConv", "QLinearMatMul", "QuantizeLinear", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike", "Range", "Scan",
}  # fmt: skip
# Of the others, all inputs are data; these have parameters that stay as they are: scales of a size, statistics.
_DATA = {"BatchNormalization": 1, "Dropout": 1, "Resize": 1, "Upsample": 1}


def kind_of(node: onnx.NodeProto) -> Kind:
    """Operators that are not ONNX's own, and what controls others, are WIDE."""
    if node.domain not in ("", "ai.onnx") or node.op_type in _WIDE:
        return Kind.WIDE
    if node.op_type in _CUBE:
        return Kind.CUBE
    return Kind.MOVES if node.op_type in _MOVES else Kind.VECTOR


def data_inputs(node: onnx.NodeProto) -> list[str]:
    """The inputs that are data."""
    return list(node.input[: _DATA.get(node.op_type)])
