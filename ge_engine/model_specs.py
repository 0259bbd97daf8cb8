"""What a model makes of its inputs: the specs of one sample in, the specs of one sample out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import onnx

from ops import Graded, ModelError, SpecError, TensorSpec

from .dims import Expression, is_invented, rewritten
from .model_inputs import check_inputs, dtype_of, fixed_batch, shape_text
from .runtime import first_line
from .shapes import Shape, shape_of
from .skeleton import Skeleton

_BATCHES = (2, 3)  # an output dim that differs between these follows the batch


def infer(skeleton: Skeleton, name: str, specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """The specs of the outputs, for inputs in the order of the file.

    Errors: SpecError with the ONNX input's name; ModelError for a file without inputs or outputs.
    """
    graph = skeleton.model.graph
    if not graph.input or not graph.output:
        missing = "inputs" if not graph.input else "outputs"
        raise ModelError(f"{skeleton.path}: the model has no {missing}", fix="export the model to ONNX again")
    sizes_of = check_inputs(graph, name, specs)
    gears = _gears(graph, specs)
    batch = fixed_batch(skeleton)
    inputs = [value.name for value in graph.input]
    shapes = [_outputs_at(skeleton, name, inputs, specs, index, batch) for index in range(len(gears) or 1)]
    graded = tuple(dict.fromkeys(dim for spec in specs for dim in spec.graded))
    return tuple(
        TensorSpec(
            dtype_of(value, f"model '{name}'", "output"),
            _combine(value.name, [sizes[position] for sizes in shapes], shape_of(value), sizes_of, graded),
        )
        for position, value in enumerate(graph.output)
    )


def _gears(graph: onnx.GraphProto, specs: Sequence[TensorSpec]) -> tuple[int, ...]:
    """The indices of the size gears; () without."""
    counts = {len(dim.values): value.name for value, spec in zip(graph.input, specs) for dim in spec.graded}
    if len(counts) > 1:
        raise SpecError(
            f"inputs come in {' and '.join(map(str, counts))} sizes",
            fix="let one op emit all sizes",
            input=next(iter(counts.values())),
        )
    return tuple(range(next(iter(counts), 0)))


def _outputs_at(
    skeleton: Skeleton, model: str, names: Sequence[str], specs: Sequence[TensorSpec], index: int, batch: int | None
) -> list[Shape | None]:
    """The shapes of one sample of every output at one size; None for a dim that inference does not give."""
    samples = {name: spec.at_gear(index) for name, spec in zip(names, specs)}
    batches = (batch, batch) if batch else _BATCHES
    try:
        found = [_infer_cached(skeleton, _whole(samples, size)) for size in batches]
    except Exception as error:  # onnx has no family of exceptions
        gear = next((position for position, spec in enumerate(specs) if spec.graded), 0)
        raise _refusal(skeleton, model, samples, batch, error, names[gear]) from error
    results: list[Shape | None] = []
    for value, first, second in zip(skeleton.model.graph.output, *found):
        results.append(_sample(model, value.name, first, second, batches, shape_of(value)))
    return results


def _whole(samples: Mapping[str, tuple[int, ...]], batch: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, (batch, *sample)) for name, sample in samples.items())


def _refusal(
    skeleton: Skeleton,
    model: str,
    samples: Mapping[str, tuple[int, ...]],
    batch: int | None,
    error: Exception,
    input: str,
) -> SpecError:
    """Why a model cannot take these sizes: the sizes themselves, or only more than one sample of them."""
    if batch is None:
        try:
            _infer_cached(skeleton, _whole(samples, 1))
        except Exception:  # as before
            pass
        else:
            return SpecError(
                f"model '{model}' takes one sample only, though its batch axis is dynamic: {first_line(error)}",
                fix="export it with its inner shapes following the batch, or with the batch fixed to 1",
                input=input,
            )
    sizes = ", ".join(f"{name} {list(sample)}" for name, sample in samples.items())
    return SpecError(
        f"model '{model}' cannot take {sizes} a sample: {first_line(error)}",
        fix="use sizes that the model was made for: of a picture, often multiples of its stride (32)",
        input=input,
    )


@lru_cache(maxsize=256)
def _infer_cached(skeleton: Skeleton, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> tuple[Shape | None, ...]:
    outputs = skeleton.outputs_at(dict(shapes))
    return tuple(outputs[value.name] for value in skeleton.model.graph.output)


def _sample(
    model: str, output: str, first: Shape | None, second: Shape | None, batches: tuple[int, int], declared: Shape | None
) -> Shape | None:
    """One output without its batch axis, from its shape at two batch sizes."""
    if first is None or second is None:
        if not declared:
            raise SpecError(
                f"model '{model}': nothing is known of the shape of output {output!r}",
                fix="export the model with the shapes of its outputs",
            )
        return (None,) * (len(declared) - 1)
    whole = f"output {output!r} is {shape_text(first)} for {batches[0]} samples"
    if not first:
        raise SpecError(f"model '{model}': {whole}, a scalar", fix="cut it off, or export it with the batch axis")
    follows = first[0] == batches[0] and second[0] == batches[1]
    unknown = not isinstance(first[0], int) and bool(declared) and isinstance(declared[0], str)  # type: ignore[index]
    if not follows and not unknown:
        raise SpecError(
            f"model '{model}': {whole}: its first axis is not the batch",
            fix="export the model with the batch as the first axis of every output",
        )
    if len(first) == 1:
        raise SpecError(
            f"model '{model}': {whole}: one number a sample, and a sample has no scalars",
            fix="export it without that output, or as [batch, 1]; of a .pb, Model(outputs=...) names the others",
        )
    for axis, (a, b) in enumerate(zip(first[1:], second[1:])):
        if isinstance(a, int) and isinstance(b, int) and a != b:
            raise SpecError(
                f"model '{model}': {whole} and {shape_text(second)} for {batches[1]}: dim {axis} grows with the batch",
                fix="export the model so that only the first axis is the batch",
            )
    return tuple(dim if isinstance(dim, int) else None for dim in first[1:])


def _combine(
    output: str,
    shapes: Sequence[Shape | None],
    declared: Shape | None,
    sizes_of: Mapping[str, Any],
    graded: Sequence[Graded],
) -> tuple[Any, ...]:
    """One spec from the shapes at every size: a dim that varies is Graded, one that nobody knows keeps a name.

    graded: those of the inputs; one of the same sizes has the same name.

    Where inference knows nothing, the file's own number, or what follows from the sizes of input dims by the file's
    own name, is taken at its word; build runs the graph and sees.
    """
    columns = zip(*(shape or () for shape in shapes))
    dims: list[Any] = []
    for axis, sizes in enumerate(columns):
        declared_dim = declared[axis + 1] if declared and len(declared) > axis + 1 else None
        fallback = re.sub(r"\W", "_", f"{output}_{axis}")
        is_name = isinstance(declared_dim, str) and declared_dim.isidentifier() and not is_invented(declared_dim)
        name = str(declared_dim) if is_name else fallback
        if any(not isinstance(size, int) for size in sizes):
            sizes = _promised(declared_dim, sizes_of, len(shapes)) or (name,)
        same = next((dim for dim in graded if dim.values == tuple(sizes) and dim not in dims), None)
        dims.append(sizes[0] if len(set(sizes)) == 1 else same or Graded(name, tuple(sizes)))
    return tuple(dims)


def _promised(declared: Any, sizes_of: Mapping[str, Any], count: int) -> tuple[int, ...] | None:
    """What the file says of a dim at each size; None where it says nothing that can be computed."""
    if isinstance(declared, int):
        return (declared,) * count if declared > 0 else None
    try:
        expression = Expression(rewritten(declared or "", {name: name for name in sizes_of}))
    except SpecError:
        return None
    rows = [{name: v[i] if isinstance(v, tuple) else v for name, v in sizes_of.items()} for i in range(count)]
    values = tuple(expression.value(row) for row in rows)
    return values if min(values) > 0 else None
