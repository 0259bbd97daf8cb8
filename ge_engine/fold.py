"""Fold: a stage's graph with what does not depend on the samples computed beforehand.

ONNX Runtime's basic optimization does it. Heavy weights take no part: they stand in as inputs, so folding is quick,
and every graph of a stage keeps the very same weights.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import onnx
import onnxruntime
from onnx import numpy_helper

from ops import BuildError

from . import runtime, weights
from .builder import BATCH, IR_VERSION
from .shapes import Shape, fix_inputs, infer_strictly, known_shapes

# Folding, not fusing: a runtime fuses by itself when it loads the graph. What these fusions write is not standard
# ONNX, or its names keep it from being loaded a second time.
_FUSIONS = ("MatMulAddFusion", "LayerNormFusionL1", "GeluFusionL1", "LayerNormFusion", "GeluFusion")


def folded(model: onnx.ModelProto, shapes: Mapping[str, Shape]) -> onnx.ModelProto:
    """A folded copy for these input shapes; a dim may stay a name.

    Errors: BuildError when ONNX Runtime refuses the graph at these shapes.
    """
    working = onnx.ModelProto()
    working.CopyFrom(model)
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
    taken = {node.name for node in result.graph.node}
    named: set[str] = set()
    for node in result.graph.node:
        name, count = node.name or node.op_type, 1
        while name in named or (not node.name and name in taken):
            count += 1
            name = f"{node.name or node.op_type}_{count}"
        node.name = name
        named.add(name)


def folded_for_any_batch(model: onnx.ModelProto, samples: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    """A folded copy that serves every batch size: its first axis is a name.

    What the folds for 2 and 3 samples have in common is free of the batch; where they differ in more than the targets
    of a Reshape, the graph is folded with the batch unknown, and computes it when it runs.
    """
    two, three = (folded(model, {name: (n, *shape) for name, shape in samples.items()}) for n in (2, 3))
    free: dict[str, Shape] = {name: (BATCH, *shape) for name, shape in samples.items()}
    if not _merge(two, three):
        two = folded(model, free)
    fix_inputs(two, free)
    return two


def _merge(two: onnx.ModelProto, three: onnx.ModelProto) -> bool:
    """Make the fold for 2 samples one for any number, by the fold for 3; whether that could be done."""
    if len(two.graph.node) != len(three.graph.node):
        return False
    if any(a.SerializeToString() != b.SerializeToString() for a, b in zip(two.graph.node, three.graph.node)):
        return False
    others = {tensor.name: tensor for tensor in three.graph.initializer}
    if others.keys() != {tensor.name for tensor in two.graph.initializer}:
        return False
    differing = [t for t in two.graph.initializer if t.SerializeToString() != others[t.name].SerializeToString()]
    if not differing:
        return True
    shapes = known_shapes(infer_strictly(two)), known_shapes(infer_strictly(three))
    for tensor in differing:
        readers = [node for node in two.graph.node if tensor.name in node.input]
        if not readers or any(node.op_type != "Reshape" or node.input[0] == tensor.name for node in readers):
            return False
        target = _free_target(tensor, others[tensor.name], readers, shapes)
        if target is None:
            return False
        tensor.CopyFrom(target)
    return True


def _free_target(
    two: onnx.TensorProto,
    three: onnx.TensorProto,
    readers: list[onnx.NodeProto],
    shapes: tuple[dict[str, Shape | None], dict[str, Shape | None]],
) -> onnx.TensorProto | None:
    """The target of a Reshape, with 0 (as it was) or -1 (what is left) in place of the batch."""
    a, b = numpy_helper.to_array(two), numpy_helper.to_array(three)
    if a.shape != b.shape or a.ndim != 1:
        return None
    places = (a != b).nonzero()[0]
    if len(places) != 1 or a[places[0]] * 3 != b[places[0]] * 2:
        return None
    place, free = int(places[0]), a.copy()
    kept = all(
        shape[node.input[0]] is not None
        and len(shape[node.input[0]] or ()) > place
        and (shape[node.input[0]] or ())[place] == size
        for node in readers
        for shape, size in zip(shapes, (int(a[place]), int(b[place])))
    )
    if kept and not any(attribute.i for node in readers for attribute in node.attribute):
        free[place] = 0
    elif -1 not in a:
        free[place] = -1
    else:
        return None
    return numpy_helper.from_array(free, two.name)
