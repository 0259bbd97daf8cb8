"""Checks: what npu_ge takes and then hangs, truncates or aborts on, by the rules of `gepipe rule V..`.

"fails" is refused when a model is loaded; "advice" is logged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ops import Finding

from ..half.precision import mode_of
from .known import Known
from .mode import ANY_BATCH, FIXED_BATCH, Mode
from .ports import TRITON, Port

LARGEST = 2**31  # bytes of a tensor: npu_ge counts in 32 bits, and traps
MOST_STREAMS = 1000
MANY_STREAMS = 8  # of one device


def check(known: Known) -> list[Finding]:
    """Every finding about a model."""
    parts = (_ports(known), _shapes(known), _gears(known), _streams(known), _precision(known))
    return [finding for part in parts for finding in part]


def _ports(known: Known) -> Iterator[Finding]:
    for what, config, model in (
        ("input", known.config.inputs, known.model.inputs),
        ("output", known.config.outputs, known.model.outputs),
    ):
        for port in model:
            if port.dtype not in TRITON:
                yield _fails("V10", f"{what} {port} has a type that npu_ge does not know", "put a Cast into the model")
            if not port.dims:
                yield _fails("V11", f"{what} '{port.name}' is a scalar", "give it the shape [1] in the model")
        names, wanted = [port.name for port in config], [port.name for port in model]
        if names != wanted:
            yield _fails(
                "V09",
                f"the {what}s are {', '.join(names) or 'none'}, those of the model {', '.join(wanted)}",
                "list every one in the model's order: npu_ge goes by place, not by name",
            )
            continue
        for port, own in zip(config, model):
            yield from _port(known, what, port, own)


def _port(known: Known, what: str, port: Port, own: Port) -> Iterator[Finding]:
    whole = (-1, *port.dims) if known.max_batch_size > 0 else port.dims
    takes = (-1, 1) if known.options.static_model else (-1,)  # a static graph is of batch 1
    where = f"{what} '{port.name}'"
    if port.dtype != own.dtype:
        yield _fails("V09", f"{where} is {port.dtype}, in the model {own.dtype}", "write the model's type")
    if port.reshaped:
        yield _fails("V09", f"{where} has a reshape, which npu_ge does not look at", "write the model's own dims")
    if len(whole) != len(own.dims):
        yield _fails("V09", f"{where} has the dims {list(whole)}, in the model {list(own.dims)}", "give it as many")
    elif any(mine != theirs and -1 not in (mine, theirs) for mine, theirs in zip(whole, own.dims)):
        yield _fails("V09", f"{where} has the dims {list(whole)}, in the model {list(own.dims)}", "write the model's")
    elif known.max_batch_size > 1 and own.dims[0] not in takes:
        yield _fails(
            "V09",
            f"{where}: the model fixes the batch to {own.dims[0]}, max_batch_size is {known.max_batch_size}",
            "export it with a dynamic batch, or use max_batch_size 0 and whole dims",
        )


def _shapes(known: Known) -> Iterator[Finding]:
    if known.mode is Mode.TENSOR_ZERO:
        yield _fails("V09", "not support model_mode_TENSOR_ZERO: no inputs and outputs", "list them in config.pbtxt")
        return
    for port, own in zip(known.config.outputs, known.model.outputs):
        yield from _output(known, port, own)
    if known.mode.has_expressions and not known.auto_complete:
        yield _fails("V15", "outputs vary, and auto-complete is off", "start without --disable-auto-complete-config")
    for port in known.config.inputs:
        if known.combines and -1 in port.dims:
            yield _fails(
                "V19",
                f"input '{port.name}' has the dims {list(port.dims)}, and requests are merged",
                "fix the dims, or leave dynamic_batching out",
            )
    for port in (*known.config.inputs, *known.config.outputs):
        nbytes = math.prod(abs(dim) for dim in port.dims) * max(1, known.max_batch_size) * _itemsize(port)
        if nbytes >= LARGEST:
            yield _fails("V21", f"'{port.name}' may have {nbytes} bytes, 2 GiB or more", "use a smaller batch or shape")


def _output(known: Known, port: Port, own: Port) -> Iterator[Finding]:
    if known.max_batch_size > 0 and -1 in port.dims:
        yield _fails("V12", f"output '{port.name}' has the dims {list(port.dims)}, max_batch_size is above 0", "use 0")
    if not own.dims or not known.config.inputs:
        return
    first = known.config.inputs[0].dims[0]
    if known.mode in FIXED_BATCH and port.dims[0] != first:
        yield _first_dim(port, first)
    elif known.mode in ANY_BATCH and own.dims[0] != -1:
        yield _first_dim(own, first)


def _first_dim(port: Port, first: int) -> Finding:
    return _fails(
        "V13",
        f"output '{port.name}' has the dims {list(port.dims)}, the inputs begin with {first}",
        "let every output begin with the same dim: npu_ge sizes it by the first input's",
    )


def _gears(known: Known) -> Iterator[Finding]:
    if known.options.static_model and known.max_batch_size > 1:
        yield _advice("V05", "static_model with max_batch_size: a batch is a loop over its rows", "use gears")
    if known.gears is None:
        return
    if known.options.static_model:
        yield _fails("V04", "static_model and gears", "use one of the two")
    elif known.fixed:
        yield _fails(
            "V31", "gears, but every dim in config.pbtxt is a number: the graph becomes static", "write -1 in the dims"
        )
    missing = sorted(set(range(1, known.max_batch_size + 1)) - known.gears.batches())
    if missing:
        message = f"max_batch_size is {known.max_batch_size}; there are no gears of batch {_listed(missing)}"
        if known.combines:
            yield _fails("V17", message, "add them: requests are merged to any size")
        else:
            yield _advice("V17", message, "add them: a request of that batch fails")


def _streams(known: Known) -> Iterator[Finding]:
    options = known.options
    if options.instance_exec_blocks != 1:
        yield _fails("V06", f"instance_exec_blocks is {options.instance_exec_blocks}", "leave it out: only 1 works")
    if options.device_exec_blocks < 1:
        yield _fails("V07", f"device_exec_blocks is {options.device_exec_blocks}", "give at least 1")
    elif options.streams > MOST_STREAMS:
        yield _fails("V07", f"{options.streams} streams, the most is {MOST_STREAMS}", "use fewer")
    elif options.device_exec_blocks > MANY_STREAMS:
        yield _advice("V07", f"{options.device_exec_blocks} streams on each device", f"use {MANY_STREAMS} at most")
    if options.instances < options.streams:
        yield _advice(
            "V08", f"{options.instances} instances for {options.streams} streams: some stay idle", "use as many"
        )
    elif options.streams == 1 and known.gears is not None and not known.covered:
        yield _advice(
            "V08",
            "gears on one stream: on the real backend one request outside them ends the service",
            'write device_exec_blocks "2", and two instances',
        )


def _precision(known: Known) -> Iterator[Finding]:
    precision = known.options.precision
    if precision is None:
        yield _advice(
            "V20",
            "no precision is given: an NPU computes in fp16, the stand-in in fp32",
            "write session.ge.exec.precision_mode_v2",
        )
    elif mode_of(precision) is None:
        message = f"precision {precision} is not emulated: the stand-in runs it as origin"
        yield _advice("V20", message, "compare answers on an NPU")


def _itemsize(port: Port) -> int:
    return np.dtype(port.dtype).itemsize if port.dtype in TRITON else 1  # V10 says what else is wrong


def _listed(sizes: list[int]) -> str:
    return f"{', '.join(map(str, sizes[:8]))}{', ...' if len(sizes) > 8 else ''}"


def _fails(rule: str, message: str, fix: str) -> Finding:
    return Finding(rule, "fails", "config.pbtxt", message, fix)


def _advice(rule: str, message: str, fix: str) -> Finding:
    return Finding(rule, "advice", "config.pbtxt", message, fix)
