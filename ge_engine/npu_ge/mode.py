"""Mode: how npu_ge sorts models; on it hang what is merged and how large outputs are."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from .ports import Port, Ports


class Mode(Enum):
    """npu_ge's own names (the spelling too)."""

    MAX_BATCH = "MAX_BATCH"
    MAX_BATCH_HAVE_UNKNOW_DIM = "MAX_BATCH_HAVE_UNKNOW_DIM"
    FIRST_NOT_SAME = "NO_MAX_BATCH_FIRST_NOT_SAME"
    FIRST_NOT_SAME_NEGATIVE = "NO_MAX_BATCH_FIRST_NOT_SAME_EXIST_NEGATIVE"
    ANY_BATCH = "NO_MAX_BATCH_FIRST_SAME_NEGATIVE_ONE"
    ANY_BATCH_HAVE_UNKNOW_DIM = "NO_MAX_BATCH_FIRST_SAME_NEGATIVE_ONE_HAVE_UNKNOW_DIM"
    FIXED_BATCH = "NO_MAX_BATCH_FIRST_SAME_NOT_NEGATIVE_ONE"
    FIXED_BATCH_HAVE_UNKNOW_DIM = "NO_MAX_BATCH_FIRST_SAME_NOT_NEGATIVE_ONE_HAVE_UNKNOW_DIM"
    TENSOR_ZERO = "TENSOR_ZERO"

    @property
    def has_expressions(self) -> bool:
        """Whether output dims are computed from input dims."""
        return self.value.endswith(("HAVE_UNKNOW_DIM", "EXIST_NEGATIVE"))


BATCHED = (Mode.MAX_BATCH, Mode.MAX_BATCH_HAVE_UNKNOW_DIM)
ANY_BATCH = (Mode.ANY_BATCH, Mode.ANY_BATCH_HAVE_UNKNOW_DIM)
FIXED_BATCH = (Mode.FIXED_BATCH, Mode.FIXED_BATCH_HAVE_UNKNOW_DIM)


def mode_of(max_batch_size: int, config: Ports, model: Ports) -> Mode:
    """The mode of a model whose configuration may leave its inputs and outputs to the model's file."""
    complete = bool(config.inputs and config.outputs)
    frozen = not any(port.names for port in model.inputs)  # nothing is read from a TensorFlow graph
    inputs, outputs = config if complete or frozen else model
    if not inputs or not outputs or not all(port.dims for port in inputs):
        return Mode.TENSOR_ZERO
    if max_batch_size > 0:
        unknown = _open(outputs, 0 if complete else 1)
        return Mode.MAX_BATCH_HAVE_UNKNOW_DIM if unknown else Mode.MAX_BATCH
    first = {port.dims[0] for port in inputs}
    if len(first) > 1:
        return Mode.FIRST_NOT_SAME_NEGATIVE if _open(outputs, 0) else Mode.FIRST_NOT_SAME
    unknown = _open(outputs, 1)
    if first != {-1}:
        return Mode.FIXED_BATCH_HAVE_UNKNOW_DIM if unknown else Mode.FIXED_BATCH
    if frozen:
        return Mode.TENSOR_ZERO
    if len({port.names[:1] for port in model.inputs}) > 1:
        return Mode.FIRST_NOT_SAME_NEGATIVE
    return Mode.ANY_BATCH_HAVE_UNKNOW_DIM if unknown else Mode.ANY_BATCH


def takes_any_batch(ports: Ports) -> bool:
    """Whether the first axis of every input and output varies: then a static model runs its rows one at a time."""
    return all(port.dims[:1] == (-1,) for port in (*ports.inputs, *ports.outputs))


def _open(ports: Sequence[Port], start: int) -> bool:
    return any(-1 in port.dims[start:] for port in ports)
