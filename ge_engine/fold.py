"""Fold: a stage's graph with what does not depend on the samples computed beforehand.

ONNX Runtime's basic optimization does it. Heavy weights take no part: they stand in as inputs, so folding is quick,
and every graph of a stage keeps the very same weights.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import onnx

from ops import BuildError

from . import runtime, weights
from .builder import IR_VERSION
from .shapes import Shape, fix_inputs

# Folding, not fusing: a runtime fuses by itself when it loads the graph. What these fusions write is not standard
# ONNX, or its names keep it from being loaded a second time.
_FUSIONS = ("MatMulAddFusion", "LayerNormFusionL1", "GeluFusionL1", "LayerNormFusion", "GeluFusion")


def folded(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> onnx.ModelProto:
    """A folded copy for these input shapes; a dim may stay a name.

    Errors: BuildError when ONNX Runtime refuses the graph at these shapes; OSError when there is no room to write it.
    """
    import onnxruntime  # takes a while, and what has been built needs no folding

    working = deepcopy(model)
    fix_inputs(working, shapes)
    heavy = weights.detach(working)
    options = runtime.options(threads=1)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory(prefix="gepipe") as folder:
        path = str(Path(folder, "folded.onnx"))
        options.optimized_model_filepath = path
        try:
            runtime.make(working, options, disabled=_FUSIONS)
        except Exception as error:  # ONNX Runtime has no family of exceptions
            if os.path.exists(path):  # the graph was folded, but could not be written
                raise OSError(f"{path}: {runtime.first_line(error)}") from error
            sizes = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
            raise BuildError(
                f"the graph does not take {sizes}: {runtime.first_line(error)}",
                fix="use batch sizes and sizes that the models were made for",
            ) from error
        result = onnx.load(path)
    weights.attach(result, heavy)
    _tidy(result, model)
    return result


def _tidy(result: onnx.ModelProto, source: onnx.ModelProto) -> None:
    """Leave out what ONNX Runtime adds: opsets that nothing uses, shapes, nodes without a name."""
    domains = {node.domain for node in result.graph.node}
    imports = [entry for entry in source.opset_import if entry.domain in domains or not entry.domain]
    del result.opset_import[:]
    result.opset_import.extend(imports)
    result.ir_version = IR_VERSION
    result.producer_name = source.producer_name
    del result.graph.value_info[:]
    named: set[str] = set()
    for node in result.graph.node:
        if not node.name or node.name in named:
            node.name = f"{node.op_type}:{next(name for name in node.output if name)}"
        named.add(node.name)
