"""Lists: the nodes to keep in fp32, in the three forms that CANN reads.

keep_dtype and customize_dtypes take nodes by name, and work with precision_mode_v2=fp16: the first is atc's alone, the
second also GE's online option ge.customizeDtypes, which is how npu_ge is told. modify_mixlist takes types of operators,
by Ascend's names, and has a meaning for mixed_float16 only. GE splits some nodes and fuses others before it reads a
list, and then a name has no effect: its log tells, and so does a comparison with what the NPU dumps.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

import onnx
from onnx import helper

from ge_engine.dynamic import values_of
from ge_engine.half.rewrite import Keep
from ops import WrongUse

_TYPE = "OpType::"
KEEP, CUSTOM, MIX = "keep_dtype.cfg", "customize_dtypes.cfg", "modify_mixlist.json"

# What GE's parser makes of an operator of ONNX, where it goes by another name there.
_ASCEND = {
    "AveragePool": "AvgPoolV2",
    "BatchNormalization": "BatchNorm",
    "Clip": "ClipByValue",
    "Conv": "Conv2D",
    "ConvTranspose": "Conv2DTranspose",
    "Gemm": "MatMulV2",
    "InstanceNormalization": "InstanceNorm",
    "LayerNormalization": "LayerNorm",
    "LogSoftmax": "LogSoftmaxV2",
    "MatMul": "BatchMatMulV2",
    "ReduceL2": "LpNormV2",
    "Softmax": "SoftmaxV2",
    "Sum": "AddN",
}


def ascend_type(op_type: str) -> str:
    """
    >>> ascend_type("Conv"), ascend_type("Mul")
    ('Conv2D', 'Mul')
    """
    return _ASCEND.get(op_type, op_type)


def keep_dtype(nodes: Sequence[onnx.NodeProto]) -> str:
    """A line a node: its name. For `atc --keep_dtype=FILE`."""
    return "".join(f"{node.name}\n" for node in nodes)


def customize_dtypes(nodes: Sequence[onnx.NodeProto], model: onnx.ModelProto) -> str:
    """A line a node, with the dtype of each of its inputs and outputs, as the graph has them."""
    types = {name: value.type.tensor_type.elem_type for name, value in values_of(model).items()}
    types |= {tensor.name: tensor.data_type for tensor in model.graph.initializer}

    def dtypes(names: Sequence[str]) -> str:
        return ",".join(helper.tensor_dtype_to_np_dtype(types[name]).name for name in names if name)

    return "".join(
        f"{node.name}::InputDtype:{dtypes(node.input)},OutputDtype:{dtypes(node.output)}\n" for node in nodes
    )


def modify_mixlist(nodes: Sequence[onnx.NodeProto]) -> str:
    """Types of operators that lose no precision, as JSON. Every node of such a type stays, not just these."""
    types = sorted({ascend_type(node.op_type) for node in nodes})
    return json.dumps({"black-list": {"to-add": types}}, indent=2) + "\n"


def read_list(path: Path) -> Keep:
    """What one of the three files keeps. Errors: WrongUse for a file that is none of them."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            types = json.loads(text)["black-list"]["to-add"]
            if not isinstance(types, list) or not all(isinstance(name, str) for name in types):
                raise TypeError(f"to-add is a list of types, not {types!r}")
            return _of_types(types)
    except (OSError, ValueError, KeyError, TypeError) as error:
        fix = f"give a {KEEP}, {CUSTOM} or {MIX}, as --keep writes them"
        raise WrongUse(f"{path} is no list of nodes to keep: {type(error).__name__}: {error}", fix=fix) from error
    entries = [line.partition("::InputDtype:")[0].strip() for line in text.splitlines() if line.strip()]
    types = [entry.removeprefix(_TYPE).partition(":")[0] for entry in entries if entry.startswith(_TYPE)]
    return Keep(frozenset(entries) - {entry for entry in entries if entry.startswith(_TYPE)}, _of_types(types).op_types)


def _of_types(types: Sequence[str]) -> Keep:
    """Ascend's operators as ONNX's."""
    return Keep(op_types=frozenset(types) | {own for own, ascend in _ASCEND.items() if ascend in types})


def lists_of(names: Collection[str], model: onnx.ModelProto) -> dict[str, str]:
    """All three, by the names of their files, for these nodes of a graph."""
    nodes = [node for node in model.graph.node if node.name in names]
    return {KEEP: keep_dtype(nodes), CUSTOM: customize_dtypes(nodes, model), MIX: modify_mixlist(nodes)}
