"""Inputs and outputs of an npu_ge model against its ONNX file: V09-V15, V21."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ge_engine.npu_ge.checks import LARGEST
from ge_engine.npu_ge.expression import FIX, Expression, clash
from ge_engine.npu_ge.ports import READ_FROM_ONNX, TRITON, UNKNOWN
from ops import SpecError

from ..model import Model
from ..onnx_facts import OnnxTensor
from ..problem import Place, Problem
from ..tensor import ITEM_BYTES, Tensor, triton_type

_LISTED_ONLY = {TRITON[dtype] for dtype in TRITON.keys() - READ_FROM_ONNX}
_NEVER = {triton_type(dtype) for dtype in UNKNOWN}


def check_io(model: Model) -> Iterator[Problem]:
    """What the backend does not compare, and trips over."""
    for kind in ("input", "output"):
        yield from _same_list(model, kind)
        yield from _types(model, kind)
        yield from _scalars(model, kind)
        yield from _sizes(model, kind)
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
        if tensor.data_type in _NEVER:
            message = f"{kind} '{tensor.name}' is {tensor.data_type}, which the backend does not know"
            yield Problem("V10", place, message, "put a Cast to TYPE_FP32 (or a number) into the model", "refused")
        elif tensor.data_type in _LISTED_ONLY and not listed:
            message = f"{kind} '{tensor.name}' is {tensor.data_type}, which the backend cannot read from the ONNX file"
            yield Problem("V10", place, message, "list every input and output in config.pbtxt", "refused")


def _scalars(model: Model, kind: str) -> Iterator[Problem]:
    for tensor in _found(model, kind):
        if tensor.dims == ():
            message = f"{kind} '{tensor.name}' is a scalar: the backend reads its first dim, which is not there"
            yield Problem("V11", Place(model.onnx_files[0]), message, "give it the shape [1] in the model")


def _sizes(model: Model, kind: str) -> Iterator[Problem]:
    for index, tensor in enumerate(getattr(model, f"{kind}s")):
        fixed = math.prod(dim for dim in tensor.dims if dim > 0)
        nbytes = fixed * max(1, model.max_batch_size) * ITEM_BYTES.get(tensor.data_type, 1)
        if nbytes >= LARGEST:
            message = f"{kind} '{tensor.name}' is {nbytes / 2**30:.1f} GiB at batch {max(1, model.max_batch_size)}"
            fix = "make max_batch_size or the dims smaller"
            yield Problem("V21", model.at(kind, index), f"{message}: from 2 GiB on the server aborts", fix)


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
        yield from _expressions(model, variable)
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


def _expressions(model: Model, variable: Sequence[Tensor]) -> Iterator[Problem]:
    if model.onnx is None:
        return
    names = {dim for tensor in model.onnx.inputs for dim in tensor.dims or () if isinstance(dim, str) and dim}
    wanted = {tensor.name for tensor in variable}
    for onnx in model.onnx.outputs:
        dims = (onnx.dims or ())[1 if model.max_batch_size > 0 else 0 :]
        for dim in dims if onnx.name in wanted else ():
            if isinstance(dim, int):
                continue
            wrong = _wrong(dim, frozenset(names))
            if wrong:
                message, fix = wrong
                yield Problem("V14", Place(model.onnx_files[0]), f"output '{onnx.name}': {message}", fix)


def _wrong(text: str, names: frozenset[str]) -> tuple[str, str] | None:
    """Why the backend cannot compute a dim from the input dims, and what to do."""
    if not text:
        return "-1 dim has no name", "name it in the model, by the name of an input's dim"
    try:
        expression = Expression(text)
    except SpecError as error:
        return error.message, error.fix
    unknown = sorted(expression.names - names)
    if unknown:
        return f"dim '{text}': {unknown[0]} is no input dim ({', '.join(sorted(names)) or 'they have no names'})", FIX
    inner = [(name, clash(name, names)) for name in sorted(expression.names)]
    if any(other for _, other in inner):
        name, other = next(pair for pair in inner if pair[1])
        return f"dim '{text}': {other} is replaced inside {name}, too", f"rename {name}"
    if any(not isinstance(divisor, int) or divisor == 0 for divisor in expression.divisors):
        return f"dim '{text}': a division by what may be 0 ends the server", "divide by whole numbers only"
    return None
