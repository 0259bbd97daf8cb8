"""What an ONNX file is to npu_ge, whoever asks: V10, V11, V21, V24, V25, V28, V30. Lint and inspect judge by these."""

from __future__ import annotations

from collections.abc import Iterator

from ge_engine.inspect.operators import BY_DATA, DOCUMENTED, MAX_IR, MAX_OPSET, ON_HOST, Release
from ge_engine.npu_ge.checks import LARGEST
from ge_engine.npu_ge.ports import READ_FROM_ONNX, TRITON, UNKNOWN

from ..onnx_facts import OnnxFacts
from ..problem import Place, Problem
from ..tensor import triton_type

_LISTED_ONLY = {TRITON[dtype] for dtype in TRITON.keys() - READ_FROM_ONNX}
_NEVER = set(map(triton_type, UNKNOWN))


def check_onnx(onnx: OnnxFacts, geared: bool, release: Release = DOCUMENTED) -> Iterator[Problem]:
    """Whether it can be read and compiled, and what in it is slow. geared: it is compiled for gears."""
    place = Place(onnx.path)
    if onnx.ir > MAX_IR or onnx.opset > MAX_OPSET:
        message = (
            f"IR {onnx.ir}, opset {onnx.opset}: the backend reads the file with ONNX Runtime 1.23.2, which knows IR up "
            f"to {MAX_IR} and opset up to {MAX_OPSET}"
        )
        yield Problem("V28", place, message, "export for opset 17, IR 8", "refused")
    elif onnx.opset not in release.opsets:
        message = f"opset {onnx.opset}: {release.source} {release.span}"
        yield Problem("V24", place, message, f"export for opset {min(17, release.opsets[-1])}", "advice")
    unknown = release.unknown(onnx.operators, onnx.opset)
    reasons = dict.fromkeys(unknown.values())
    for reason in reasons:
        names = ", ".join(name for name, why in unknown.items() if why == reason)
        what = "GE registers no parser for it in the releases looked at" if reason == "not registered" else reason
        yield Problem("V24", place, f"{names}: {what}", "export it as simpler operators, or try it with atc", "advice")
    by_data = sorted(BY_DATA & onnx.operators)
    if by_data and geared:
        message = f"{', '.join(by_data)}: the size of its output depends on data, and each gear has fixed sizes"
        yield Problem("V25", place, message, "leave it to the host stage behind the model")
    slow = sorted((ON_HOST & onnx.operators) | {f"{name} on int64" for name in onnx.int64_operators})
    if slow:
        message = f"{', '.join(slow)}: runs on the host's CPU, and breaks the graph into pieces"
        fix = "do that part on the host" if slow == ["NonZero"] else "calculate in int32 or float32 where values allow"
        yield Problem("V30", place, message, fix, "advice")


def check_scalars(onnx: OnnxFacts) -> Iterator[Problem]:
    """Inputs and outputs without a dim."""
    for kind, tensors in (("input", onnx.inputs), ("output", onnx.outputs)):
        for tensor in tensors:
            if tensor.dims == ():
                message = f"{kind} '{tensor.name}' is a scalar: the backend reads its first dim, which is not there"
                yield Problem("V11", Place(onnx.path), message, "give it the shape [1] in the model")


def check_type(kind: str, name: str, data_type: str, place: Place, listed: bool) -> Iterator[Problem]:
    """listed: config.pbtxt lists all inputs and outputs."""
    if data_type in _NEVER:
        message = f"{kind} '{name}' is {data_type}, which the backend does not know"
        yield Problem("V10", place, message, "put a Cast to TYPE_FP32 (or a number) into the model", "refused")
    elif data_type in _LISTED_ONLY and not listed:
        message = f"{kind} '{name}' is {data_type}, which the backend cannot read from the ONNX file"
        yield Problem("V10", place, message, "list every input and output in config.pbtxt", "refused")


def check_size(kind: str, name: str, nbytes: int, batch: int, place: Place) -> Iterator[Problem]:
    """nbytes: at that batch size."""
    if nbytes >= LARGEST:
        message = f"{kind} '{name}' is {nbytes / 2**30:.1f} GiB at batch {batch}: from 2 GiB on the server aborts"
        yield Problem("V21", place, message, "make max_batch_size or the dims smaller")
