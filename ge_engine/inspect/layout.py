"""Layout: what the axes of an input probably are, by who reads it, and else by its sizes and names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import onnx

_CHANNELS = (1, 3, 4)
_THROUGH = {"Cast", "Div", "Sub", "Mul", "Add", "Identity", "Pad", "Clip"}  # leave axes where they are
_SPATIAL = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "BatchNormalization", "Resize", "ConvTranspose"}
_ROW = re.compile(r"height|width|\b[hw]\b", re.IGNORECASE)


def layout_of(name: str, dtype: str, dims: Sequence[int | str] | None, graph: onnx.GraphProto) -> str:
    """NCHW, NHWC, HWC, tokens, vector, scalar; "" where nothing speaks for one of them."""
    if dims is None:
        return ""
    if not dims:
        return "scalar"
    if len(dims) == 4:
        return _read_as(name, graph) or _by_sizes(dims)
    if len(dims) == 3 and dtype == "uint8" and (dims[2] in _CHANNELS or all(_ROW.search(str(dim)) for dim in dims[:2])):
        return "HWC"
    if len(dims) == 2:
        return "tokens" if dtype in ("int32", "int64") else "vector"
    return ""


def _read_as(name: str, graph: onnx.GraphProto) -> str:
    """What its first reader of note says."""
    names = {name}
    for node in graph.node:
        if not node.input or node.input[0] not in names:
            continue
        if node.op_type in _SPATIAL:
            return "NCHW"
        if node.op_type == "Transpose":
            order = next((list(one.ints) for one in node.attribute if one.name == "perm"), [])
            return "NHWC" if order == [0, 3, 1, 2] else "NCHW" if order == [0, 2, 3, 1] else ""
        if node.op_type in _THROUGH:
            names.update(node.output)
    return ""


def _by_sizes(dims: Sequence[int | str]) -> str:
    first, last = dims[1] in _CHANNELS, dims[3] in _CHANNELS
    if first != last:
        return "NCHW" if first else "NHWC"
    named = [bool(_ROW.search(str(dim))) for dim in dims]
    return "NHWC" if named[1] and named[2] else "NCHW" if named[2] and named[3] else ""
