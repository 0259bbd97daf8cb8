"""Sizes of outputs as npu_ge wants them: an expression over the names of input dims, for each output dim that varies.

It is the name that the model's exporter gave to the dim, where that is right at every size; else one that is found from
the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ge_engine.dims import law, legal_names, rewritten
from ge_engine.model import Model
from ge_engine.shapes import shape_of
from ge_engine.stage import StageGraph
from ops import ExportError, Graded, SpecError, TensorSpec
from ops.host_stage import Step

Size = Mapping[str, int]


def named_shapes(
    stage: StageGraph, sizes: Sequence[Size]
) -> tuple[dict[str, tuple[int | str, ...]], dict[str, tuple[int | str, ...]]]:
    """The shapes of the inputs and of the outputs of a stage with sizes, for one sample, as they are to be declared.

    Errors: ExportError for an output dim that no expression gives.
    """
    names = legal_names(sizes[0])
    legal = [{names[name]: size for name, size in row.items()} for row in sizes]
    written = _written(stage, names)

    def shape(key: str, spec: TensorSpec, output: bool) -> tuple[int | str, ...]:
        dims: list[int | str] = [1]
        for axis, dim in enumerate(spec.shape, 1):
            if not isinstance(dim, Graded):
                dims.append(int(str(dim)))
            elif output:
                dims.append(size_expression(dim, legal, written.get((key, axis), ())))
            else:
                dims.append(names[dim.name])
        return tuple(dims)

    return (
        {key: shape(key, spec, output=False) for key, spec in stage.inputs},
        {key: shape(key, spec, output=True) for key, spec in stage.outputs},
    )


def size_expression(dim: Graded, sizes: Sequence[Size], written: Sequence[str] = ()) -> str:
    """An expression that gives the dim its value at every size: one of those written, or else one that is found.

    Errors: ExportError when there is none.

    >>> size_expression(Graded("anchors", (8400, 6300)), [{"H": 640, "W": 640}, {"H": 640, "W": 480}])
    'H*W*21/1024'
    """
    found = law(dim.values, sizes, written)
    if found is None:
        raise ExportError(
            f"the output dim {dim.name} is {list(dim.values)} at the sizes {[tuple(size.values()) for size in sizes]}: "
            f"no expression of {', '.join(sizes[0])} was found that gives that",
            fix="name it by one in the ONNX file, as 'height/4+1'; or use one size, or cut the model so that its "
            "outputs have a size that follows from the input's",
        )
    return found


def _written(stage: StageGraph, names: Mapping[str, str]) -> dict[tuple[str, int], tuple[str, ...]]:
    """What the files of the models say of their output dims, over the names of the stage: as npu_ge reads it, and as
    exporters mean it.
    """
    specs = {**dict(stage.inputs), **{key: spec for step in stage.steps for key, _, spec in step.outputs}}
    found = {}
    for step in stage.steps:
        if isinstance(step.op, Model):
            bound = _bound(step, step.op, specs, names)
            shapes = {value.name: shape_of(value) or () for value in step.op.skeleton.model.graph.output}
            for key, output, _ in step.outputs:
                for axis, dim in enumerate(shapes[output]):
                    if isinstance(dim, str) and bound is not None:
                        found[key, axis] = _readings(dim, bound)
    return found


def _bound(step: Step, model: Model, specs: Mapping[str, TensorSpec], names: Mapping[str, str]) -> dict[str, str | int]:
    """What the names of a model's input dims are in the stage: the name of a size, or a number."""
    bound: dict[str, str | int] = {}
    for value, key in zip(model.skeleton.model.graph.input, step.inputs):
        for want, dim in zip((shape_of(value) or ())[1:], specs[key].shape if key in specs else ()):
            if isinstance(want, str):
                known = dim if isinstance(dim, int) else names.get(str(dim))
                if known is not None:
                    bound[want] = known
    return bound


def _readings(text: str, bound: Mapping[str, str | int]) -> tuple[str, ...]:
    renamed = re.sub(r"[A-Za-z_][A-Za-z0-9_]*", lambda match: str(bound.get(match[0], match[0])), text)
    try:
        return renamed, rewritten(text, bound)
    except SpecError:
        return (renamed,)
