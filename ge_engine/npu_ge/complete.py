"""Complete: the inputs and outputs that a configuration leaves to the model's file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ops import SpecError

from .. import runtime
from ..model_file import FROZEN
from .discover import find_model
from .ports import READ_FROM_ONNX, Port, Ports, entry


class Missing(NamedTuple):
    """Entries to add to a model's configuration."""

    inputs: tuple[dict[str, Any], ...]
    outputs: tuple[dict[str, Any], ...]


def missing_of(config: Mapping[str, Any], folder: Path) -> Missing:
    """What npu_ge adds to the configuration of a model in a folder.

    Nothing, where that is a TensorFlow graph.
    Errors: as missing; ModelError or DeviceError where there is no model that can be opened.
    """
    path = find_model(folder)
    if path.suffix == FROZEN:
        return Missing((), ())
    return missing(config, Ports.of_session(runtime.loaded(path, threads=1)))


def missing(config: Mapping[str, Any], model: Ports) -> Missing:
    """What npu_ge adds: all inputs if none is listed, all outputs likewise; never a batch size.

    Errors: SpecError (V10) for a type that npu_ge does not recognise in an ONNX file.
    """
    batched = int(config.get("max_batch_size", 0)) > 0
    inputs = () if config.get("input") else model.inputs
    outputs = () if config.get("output") else model.outputs
    return Missing(tuple(_entry(port, batched) for port in inputs), tuple(_entry(port, batched) for port in outputs))


def _entry(port: Port, batched: bool) -> dict[str, Any]:
    if port.dtype not in READ_FROM_ONNX:
        raise SpecError(
            f"{port} has a type that npu_ge does not read from an ONNX file",
            fix="list all inputs and outputs in config.pbtxt, or put a Cast into the model",
            rule="V10",
        )
    return entry(port, batched)
