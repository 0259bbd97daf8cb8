"""What a model makes of its inputs: the specs of one sample in, the specs of one sample out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import onnx

from ops import Graded, ModelError, SpecError, TensorSpec
from ops.spec import canonical_dtype

from .dims import Expression, is_invented, rewritten
from .runtime import first_line
from .shapes import Shape, is_fixed, shape_of
from .skeleton import Skeleton

_VARIES = "put a Resize, a Letterbox or another op that fixes the size before it"
_BATCHES = (2, 3)  # an output dim that differs between these follows the batch


def fixed_batch(skeleton: Skeleton) -> int | None:
    """The batch size that the inputs fix. Errors: SpecError when they do not agree."""
    sizes = {}
    for value in skeleton.model.graph.input:
        shape = shape_of(value)
        if shape and isinstance(shape[0], int):
            sizes[value.name] = shape[0]
    if len(set(sizes.values())) > 1:
        raise SpecError(
            f"the first axes of the inputs are {sizes}; they should be one batch",
            fix="export the model with the batch as the first axis of every input",
            input=next(iter(sizes)),
        )
    return next(iter(sizes.values()), None)


def declared_inputs(skeleton: Skeleton) -> tuple[TensorSpec | None, ...]:
    """The spec of each input, where the file fixes it; None where it leaves a size open, or is no plain tensor."""
    found: list[TensorSpec | None] = []
    for value in skeleton.model.graph.input:
        try:
            found.append(_declared(canonical_dtype(value.type.tensor_type.elem_type), shape_of(value)))
        except SpecError:
            found.append(None)
    return tuple(found)


def _declared(dtype: str, shape: Shape | None) -> TensorSpec | None:
    """The spec of one sample, where a declared shape fixes it. Errors: SpecError for a size of 0."""
    sizes = tuple(dim for dim in shape or () if isinstance(dim, int))
    if not shape or len(shape) < 2 or not is_fixed(tuple(shape[1:])):
        return None
    return TensorSpec(dtype, sizes[-len(shape) + 1 :])


def infer(skeleton: Skeleton, name: str, specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """The specs of the outputs, for inputs in the order of the file.

    Errors: SpecError with the ONNX input's name; ModelError for a file without inputs or outputs.
    """
    graph = skeleton.model.graph
    if not graph.input or not graph.output:
        missing = "inputs" if not graph.input else "outputs"
        raise ModelError(f"{skeleton.path}: the model has no {missing}", fix="export the model to ONNX again")
    dtypes = [_dtype(value, f"model '{name}'", "input") for value in graph.input]
    bound: dict[str, tuple[Any, str]] = {}
    for value, dtype, spec in zip(graph.input, dtypes, specs):
        _check_input(value, dtype, spec, name, bound)
    gears = _gears(graph, specs)
    batch = fixed_batch(skeleton)
    inputs = [value.name for value in graph.input]
    shapes = [_outputs_at(skeleton, name, inputs, specs, index, batch) for index in range(len(gears) or 1)]
    sizes_of = {dim: sizes for dim, (sizes, _) in bound.items()}
    graded = tuple(dict.fromkeys(dim for spec in specs for dim in spec.graded))
    return tuple(
        TensorSpec(
            _dtype(value, f"model '{name}'", "output"),
            _combine(value.name, [sizes[position] for sizes in shapes], shape_of(value), sizes_of, graded),
        )
        for position, value in enumerate(graph.output)
    )


def _dtype(value: onnx.ValueInfoProto, model: str, kind: str) -> str:
    element = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
    where = value.name if kind == "input" else ""
    try:
        dtype = canonical_dtype(element)
    except SpecError:
        what = value.type.WhichOneof("value") or "nothing"
        what = onnx.TensorProto.DataType.Name(element) if element else what.removesuffix("_type")
        raise SpecError(
            f"{model}: {kind} {value.name!r} is a {what.lower()}",
            fix="export the model with plain number tensors for inputs and outputs",
            input=where,
        ) from None
    if dtype == "bfloat16":
        raise SpecError(
            f"{model}: {kind} {value.name!r} is bfloat16, which numpy does not have",
            fix="export it with float32 or float16 inputs and outputs; inside, bfloat16 may stay",
            input=where,
        )
    if dtype == "bytes":
        raise SpecError(
            f"{model}: {kind} {value.name!r} holds strings",
            fix="cut the text part off the model; Tokenize does it on the host",
            input=where,
        )
    return dtype


def _conversion(spec: TensorSpec, dtype: str) -> str:
    """What makes this dtype of such values."""
    if spec.dtype == "bytes":
        return "make numbers of the bytes: ops.DecodeImage and ops.Normalize of a picture, ops.Tokenize of a text"
    if spec.dtype == "uint8" and spec.rank == 3 and dtype == "float32":
        return "put a Normalize before it, or else a Cast to float32"
    return f"put a Cast to {dtype} before it"


def _check_input(
    value: onnx.ValueInfoProto, dtype: str, spec: TensorSpec, model: str, bound: dict[str, tuple[Any, str]]
) -> None:
    declared = shape_of(value)
    wants = f"model '{model}' wants {dtype}{_text(declared)}"

    def refuse(message: str, fix: str, rule: str = "") -> SpecError:
        wanted = _declared(dtype, declared) or (TensorSpec(dtype, spec.shape) if spec.rank else None)
        return SpecError(f"{spec}: {message}", fix=fix, input=value.name, rule=rule, wanted=wanted)

    if spec.dtype != dtype:
        raise refuse(f"dtype is {spec.dtype}, {wants}", _conversion(spec, dtype), "G10")
    if declared == ():
        raise refuse(f"{wants}, a scalar: there is no batch axis", "export it with the batch as the first axis")
    if declared is not None and spec.rank != len(declared) - 1:
        raise refuse(
            f"rank is {spec.rank}, {wants}: rank {len(declared) - 1} and the batch",
            f"give a sample of rank {len(declared) - 1}",
            "G11",
        )
    for axis, dim in enumerate(spec.shape):
        want = declared[axis + 1] if declared else None
        if isinstance(want, int) and isinstance(dim, Graded) and set(dim.values) != {want}:
            sizes = ", ".join(map(str, dim.values))
            raise refuse(
                f"dim {axis} takes the sizes {sizes}, {wants}",
                f"use the one size {want}, or export the model with a dynamic size",
            )
        if not isinstance(dim, (int, Graded)):
            raise refuse(f"dim {axis} ({dim}) varies; a Model needs fixed sizes", _VARIES)
        if isinstance(want, int) and isinstance(dim, int) and dim != want:
            raise refuse(f"dim {axis} is {dim}, {wants}", _mend(spec, (declared or ())[1:], want))
        if isinstance(want, str):
            if declared and want == declared[0]:
                raise refuse(
                    f"dim {axis} has the batch's own name, {wants}", "export it with another name for this dim"
                )
            sizes_before = bound.setdefault(want, (_sizes(dim), value.name))
            if sizes_before[0] != _sizes(dim):
                raise refuse(
                    f"{want} is {dim} here and {sizes_before[0]} in {sizes_before[1]}", "give both inputs one size"
                )


def _mend(spec: TensorSpec, declared: Shape, want: int) -> str:
    """What to do about a dim; where the channels stand last and the model wants them first, it is not the dim."""
    moved = (*spec.shape[-1:], *spec.shape[:-1])
    if spec.rank == 3 and all(isinstance(d, str) or d is None or d == m for d, m in zip(declared, moved)):
        return "the channels are last and the model wants them first; Normalize moves them"
    return f"make it {want}"


def _sizes(dim: Any) -> Any:
    return dim.values if isinstance(dim, Graded) else dim


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
    whole = f"output {output!r} is {_text(first)} for {batches[0]} samples"
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
                f"model '{model}': {whole} and {_text(second)} for {batches[1]}: dim {axis} grows with the batch",
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


def _text(shape: Shape | None) -> str:
    return "" if shape is None else f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"
