"""What the file of a model says of its inputs, and whether specs of one sample fit that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from ops import Graded, SpecError, TensorSpec
from ops.spec import canonical_dtype

from .shapes import Shape, shape_of
from .skeleton import Skeleton

_VARIES = "put a Resize, a Letterbox or another op that fixes the size before it"


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
    sizes = [dim for dim in shape[1:] if isinstance(dim, int)] if shape else []
    return TensorSpec(dtype, tuple(sizes)) if shape and len(sizes) == len(shape) - 1 > 0 else None


def check_inputs(graph: onnx.GraphProto, model: str, specs: Sequence[TensorSpec]) -> dict[str, Any]:
    """For each dim that has a name the size, or the sizes, that these specs give it, in the order of the file.

    Errors: SpecError with the ONNX input's name where they do not fit.
    """
    dtypes = [dtype_of(value, f"model '{model}'", "input") for value in graph.input]
    bound: dict[str, tuple[Any, str]] = {}
    for value, dtype, spec in zip(graph.input, dtypes, specs):
        _check_input(value, dtype, spec, model, bound)
    return {name: sizes for name, (sizes, _) in bound.items()}


def dtype_of(value: onnx.ValueInfoProto, model: str, kind: str) -> str:
    """The dtype of an input or output, which kind says. Errors: SpecError where numpy has none for it."""
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
    wants = f"model '{model}' wants {dtype}{shape_text(declared)}"

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


def shape_text(shape: Shape | None) -> str:
    """A shape in a message: [batch,3,?]; nothing for one that nobody knows."""
    return "" if shape is None else f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"
