"""Row independence: does a sample's answer depend on the others of its batch?

A batch is run with other neighbours around the same row. Different bytes within 1e-5 are put down to another kernel;
more is mixing, and the node that starts it is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ops import Array

from .samples import Batch, fill, random_batch
from .shapes import with_outputs
from .stage import Tensors
from .verify import Runner, difference

Run = Callable[[Batch, "Sequence[str] | None"], list[Array]]

ROWS = 3  # the middle one is kept: what runs along the batch may run either way
_TOLERANCE = 1e-5


def mixing_node(path: str, tensors: Tensors, bounds: Mapping[str, int]) -> str | None:
    """The first node of a graph that makes rows depend on each other; None when none does.

    tensors: the inputs, with a batch of three, or what the graph is fixed to. bounds: of the inputs that hold ids.
    """
    model = onnx.load(path, load_external_data=False)
    by_nature = _mixes_by_nature(model)
    rows = tensors[0][2][0]
    if by_nature or rows == 1 or not any(depends(tensors, bounds, Runner(path))):
        return by_nature
    names = [name for node in model.graph.node for name in node.output if name]
    exposed = Path(path).with_suffix(".exposed.onnx")  # beside the weights that it refers to
    try:
        onnx.save(with_outputs(model, names), exposed)
        changed = dict(zip(names, depends(tensors, bounds, Runner(exposed), names)))
    finally:
        exposed.unlink(missing_ok=True)
    first = next((node for node in model.graph.node if any(changed.get(name) for name in node.output)), None)
    return (first or model.graph.node[-1]).name


def depends(tensors: Tensors, bounds: Mapping[str, int], run: Run, outputs: Sequence[str] | None = None) -> list[bool]:
    """For each output, whether its kept row changes with the neighbours."""
    batch = random_batch(tensors, bounds)
    results = run(batch, outputs)
    rows = tensors[0][2][0]
    changed = [False] * len(results)
    random = np.random.default_rng(1)
    for before_it, after_it in ((_zeros, _others), (_not_a_number, _large)):
        other = {name: array.copy() for name, array in batch.items()}
        for name, array in other.items():
            for row in set(range(rows)) - {rows // 2}:
                make = before_it if row < rows // 2 else after_it
                array[row] = make(array[row], random, bounds.get(name, 1))
        for index, (a, b) in enumerate(zip(results, run(other, outputs))):
            changed[index] |= difference(_kept(a, rows), _kept(b, rows)) > _TOLERANCE
    return changed


def _kept(array: Array, rows: int) -> list[Array]:
    """The kept row of a tensor whose first axis is the batch, or a multiple of it; else nothing."""
    if not array.ndim or array.shape[0] % rows or not array.size:
        return []
    return [array.reshape(rows, -1)[rows // 2]]


def _zeros(values: Array, random: np.random.Generator, bound: int) -> Any:
    return 0


def _others(values: Array, random: np.random.Generator, bound: int) -> Any:
    return fill(values.shape, values.dtype, random, bound)


def _not_a_number(values: Array, random: np.random.Generator, bound: int) -> Any:
    return np.nan if values.dtype.kind == "f" else _others(values, random, bound)


def _large(values: Array, random: np.random.Generator, bound: int) -> Any:
    return 255 if values.dtype.kind == "f" or values.dtype == np.uint8 else bound - 1


def _mixes_by_nature(model: onnx.ModelProto) -> str | None:
    """DynamicQuantizeLinear takes one scale over all that it is given."""
    names = {value.name for value in model.graph.input}
    for node in model.graph.node:
        if any(name in names for name in node.input):
            if node.op_type == "DynamicQuantizeLinear":
                return node.name
            names.update(node.output)
    return None
