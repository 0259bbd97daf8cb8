"""Inputs and outputs of an npu_ge model against its ONNX file: V09-V15, V21."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from ge_engine.dims import FIX, Expression, clash, legal_names, rewritten
from ops import SpecError

from ..model import Model
from ..onnx_facts import OnnxFacts, OnnxTensor
from ..problem import Place, Problem
from ..tensor import ITEM_BYTES, Tensor
from .onnx_file import check_scalars, check_size, check_type


def check_io(model: Model) -> Iterator[Problem]:
    """What the backend does not compare, and trips over."""
    for kind in ("input", "output"):
        yield from _same_list(model, kind)
        yield from _types(model, kind)
        yield from _sizes(model, kind)
    if model.onnx is not None:
        yield from check_scalars(model.onnx)
    yield from _outputs(model)


def _found(model: Model, kind: str) -> tuple[OnnxTensor, ...]:
    return getattr(model.onnx, f"{kind}s") if model.onnx else ()


def _same_list(model: Model, kind: str) -> Iterator[Problem]:
    """Tensors are fed by position, so the lists must be the same."""
    written, found = getattr(model.config, kind), _found(model, kind)
    if not written or model.onnx is None:
        return
    names, real = [item.name for item in written], [tensor.name for tensor in found]
    if names != real:
        what = "in another order than" if sorted(names) == sorted(real) else "not those of"
        message = f"the {kind}s are {what} the ONNX file ({', '.join(real)}), and are fed by position"
        yield Problem("V09", model.at(kind), message, f"list {', '.join(real)}, in this order")
        return
    for index, (tensor, onnx) in enumerate(zip(getattr(model, f"{kind}s"), found)):
        problem = _difference(model, tensor, onnx)
        if problem:
            yield Problem(
                "V09", model.at(kind, index), f"{kind} '{tensor.name}': {problem}", "write what the ONNX file says"
            )


def _difference(model: Model, tensor: Tensor, onnx: OnnxTensor) -> str:
    if tensor.data_type != onnx.data_type:
        return f"{tensor.data_type} here, {onnx.data_type} in the ONNX file"
    if onnx.dims is None:
        return ""
    full = (-1, *tensor.dims) if model.max_batch_size > 0 else tensor.dims
    theirs = [dim if isinstance(dim, int) else -1 for dim in onnx.dims]
    if len(full) != len(theirs):
        return f"{list(full)} with the batch, {theirs} in the ONNX file"
    clash = [(a, b) for a, b in zip(full, theirs) if a != b and -1 not in (a, b)]
    return f"{list(full)} with the batch, {theirs} in the ONNX file" if clash else ""


def _types(model: Model, kind: str) -> Iterator[Problem]:
    listed = bool(model.config.input and model.config.output)
    for index, tensor in enumerate(getattr(model, f"{kind}s")):
        place = (
            model.at(kind, index) if listed else Place(model.onnx_files[0] if model.onnx_files else model.folder.path)
        )
        yield from check_type(kind, tensor.name, tensor.data_type, place, listed)


def _sizes(model: Model, kind: str) -> Iterator[Problem]:
    for index, tensor in enumerate(getattr(model, f"{kind}s")):
        fixed = math.prod(dim for dim in tensor.dims if dim > 0)
        nbytes = fixed * max(1, model.max_batch_size) * ITEM_BYTES.get(tensor.data_type, 1)
        yield from check_size(kind, tensor.name, nbytes, max(1, model.max_batch_size), model.at(kind, index))


def _outputs(model: Model) -> Iterator[Problem]:
    inputs, outputs = model.inputs, model.outputs
    if not inputs or not outputs:
        return
    variable = [tensor for tensor in outputs if -1 in tensor.dims]
    if model.max_batch_size > 0:
        for tensor in variable:
            message = f"output '{tensor.name}' is {tensor}, with max_batch_size above 0: answers get wrong sizes"
            fix = "write max_batch_size: 0, and -1 in front of all dims"
            yield Problem("V12", _at(model, tensor), message, fix)
    elif not variable and all(tensor.dims and -1 not in tensor.dims for tensor in (*inputs, *outputs)):
        yield from _first_dims(model, inputs, outputs)
    if variable:
        if model.onnx is not None:
            wanted = {tensor.name for tensor in variable}
            yield from check_expressions(model.onnx, wanted, batched=model.max_batch_size > 0)
        message = "outputs are variable: started with --disable-auto-complete-config, the server crashes"
        yield Problem("V15", _at(model, variable[0]), message, "start the server without that flag", "advice")


def _at(model: Model, tensor: Tensor) -> Place:
    names = [item.name for item in model.config.output]
    return model.at("output", names.index(tensor.name)) if tensor.name in names else model.at()


def _first_dims(model: Model, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Iterator[Problem]:
    first = {tensor.dims[0] for tensor in inputs}
    if len(first) != 1:
        return
    (rows,) = first
    for tensor in outputs:
        if tensor.dims[0] != rows:
            message = f"output '{tensor.name}' is {tensor}, the inputs begin with {rows}: its answer is cut or too long"
            yield Problem("V13", _at(model, tensor), message, f"reshape it in the model, so that it begins with {rows}")


def check_expressions(onnx: OnnxFacts, wanted: Collection[str], batched: bool) -> Iterator[Problem]:
    """V14 of these outputs, one of each. batched: the first axis is the server's."""
    names = {dim for tensor in onnx.inputs for dim in tensor.dims or () if isinstance(dim, str) and dim}
    for output in (output for output in onnx.outputs if output.name in wanted):
        dims = (output.dims or ())[1 if batched else 0 :]
        wrong = [_wrong(dim, frozenset(names)) for dim in dims if not isinstance(dim, int)]
        found = dict.fromkeys(one for one in wrong if one is not None)
        if found:
            message, fix = ("; ".join(dict.fromkeys(texts)) for texts in zip(*found))
            yield Problem("V14", Place(onnx.path), f"output '{output.name}': {message}", fix)


def _wrong(text: str, names: frozenset[str]) -> tuple[str, str] | None:
    """Why the backend cannot compute a dim from the input dims, and what to do."""
    if not text:
        return "-1 dim has no name", "name it in the model, by the name of an input's dim"
    try:
        expression = Expression(text)
    except SpecError as error:
        return error.message, _renaming(text, names) or error.fix
    unknown = sorted(expression.names - names)
    if unknown:
        return f"dim '{text}': {unknown[0]} is no input dim ({', '.join(sorted(names)) or 'they have no names'})", FIX
    inner = [(name, clash(name, names)) for name in sorted(expression.names)]
    if any(other for _, other in inner):
        name, other = next(pair for pair in inner if pair[1])
        return f"dim '{text}': {other} is replaced inside {name}, too", f"rename {name}"
    if expression.may_divide_by_zero():
        return f"dim '{text}': a division by what may be 0 ends the server", "divide by whole numbers only"
    return None


def _renaming(text: str, names: frozenset[str]) -> str:
    """What to call a dim that an exporter has named; "" where npu_ge has no word for it."""
    try:
        return f"rename the dim to '{rewritten(text, legal_names(sorted(names)))}'"
    except SpecError:
        return ""
