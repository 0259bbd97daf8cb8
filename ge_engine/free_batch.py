"""Free batch: one folded graph that serves every batch size, made from the folds for 2 and for 3 samples."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import numpy_helper

from . import weights
from .builder import BATCH
from .fold import folded
from .shapes import Shape, fix_inputs, infer_strictly, known_shapes


def folded_for_any_batch(model: onnx.ModelProto, samples: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    """A folded copy whose first axis is a name.

    What the folds for 2 and 3 samples have in common is free of the batch. Where they differ, the target of a Reshape
    takes 0 or -1, and another constant is computed again, as in a fold with the batch unknown.
    Errors: BuildError when ONNX Runtime refuses the graph for 2 or 3 samples.
    """
    two, three = (folded(model, {name: (n, *shape) for name, shape in samples.items()}) for n in (2, 3))
    free: dict[str, Shape] = {name: (BATCH, *shape) for name, shape in samples.items()}
    if not _same_nodes(two, three) or not _set_free(two, three, model, free):
        two = folded(model, free)
    fix_inputs(two, free)
    return two


def _same_nodes(two: onnx.ModelProto, three: onnx.ModelProto) -> bool:
    return (
        len(two.graph.node) == len(three.graph.node)
        and all(a.SerializeToString() == b.SerializeToString() for a, b in zip(two.graph.node, three.graph.node))
        and {tensor.name for tensor in two.graph.initializer} == {tensor.name for tensor in three.graph.initializer}
    )


def _set_free(two: onnx.ModelProto, three: onnx.ModelProto, model: onnx.ModelProto, free: Mapping[str, Shape]) -> bool:
    """Make the fold for 2 samples one for any number; whether that could be done."""
    others = {tensor.name: tensor for tensor in three.graph.initializer}
    differing = [t for t in two.graph.initializer if t.SerializeToString() != others[t.name].SerializeToString()]
    if not differing:
        return True
    shapes = known_shapes(infer_strictly(two)), known_shapes(infer_strictly(three))
    computed = []
    for tensor in differing:
        readers = [node for node in two.graph.node if tensor.name in node.input]
        only_targets = readers and all(n.op_type == "Reshape" and n.input[0] != tensor.name for n in readers)
        target = _free_target(tensor, others[tensor.name], readers, shapes) if only_targets else None
        if target is None:
            computed.append(tensor.name)
        else:
            tensor.CopyFrom(target)
    return not computed or _graft(two.graph, folded(model, free).graph, computed)


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

    def as_it_was(node: onnx.NodeProto) -> bool:
        before = [shape[node.input[0]] or () for shape in shapes]
        same = all(len(dims) > place and dims[place] == size[place] for dims, size in zip(before, (a, b)))
        return same and not any(attribute.i for attribute in node.attribute)  # allowzero

    if all(as_it_was(node) for node in readers):
        free[place] = 0
    elif -1 not in a:
        free[place] = -1
    else:
        return None
    return numpy_helper.from_array(free, two.name)


def _graft(graph: onnx.GraphProto, source: onnx.GraphProto, names: list[str]) -> bool:
    """Compute these values, which are constants of `graph`, as `source` does; whether that could be done."""
    makers = {name: node for node in source.node for name in node.output if name}
    constants = {tensor.name: tensor for tensor in source.initializer}
    there = {value.name for value in graph.input} | {name for node in graph.node for name in node.output} | {""}
    there |= {tensor.name for tensor in graph.initializer} - set(names)
    wanted, nodes, tensors = list(names), [], []
    while wanted:
        name = wanted.pop()
        if name in there:
            continue
        if name in constants:
            tensors.append(constants[name])
            there.add(name)
        elif name in makers and not any(a.HasField("g") or a.graphs for a in makers[name].attribute):
            nodes.append(makers[name])
            there.update(makers[name].output)
            wanted.extend(makers[name].input)
        else:
            return False
    kept = [tensor for tensor in graph.initializer if tensor.name not in names]
    del graph.initializer[:]
    graph.initializer.extend([*kept, *tensors])
    _sort(graph, nodes)
    return True


def _sort(graph: onnx.GraphProto, added: list[onnx.NodeProto]) -> None:
    """Put the added nodes where what they read is made, and before what reads them."""
    pending = [*added, *graph.node]
    made = {name for node in pending for name in node.output}
    reads = [(node, weights.used_names(onnx.GraphProto(node=[node])) & made) for node in pending]
    placed: list[onnx.NodeProto] = []
    done: set[str] = set()
    while reads:
        rest = []
        for node, needs in reads:
            if needs <= done:
                placed.append(node)
                done.update(node.output)
            else:
                rest.append((node, needs))
        assert len(rest) < len(reads), "a cycle"
        reads = rest
    del graph.node[:]
    graph.node.extend(placed)
