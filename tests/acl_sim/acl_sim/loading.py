"""Loading: an .om of the simulator, on a device of its kind, while there is memory."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from . import om as om_file
from .call import Refused
from .codes import FAILURE, INVALID_FILE, PARSE_MODEL
from .model import Model
from .om import Om
from .world import World


def readable(world: World, path: str) -> Om:
    """Errors: Refused for what is no .om, or one that was made for another chip or by a newer CANN."""
    if not isinstance(path, str):
        raise TypeError(f"a path is a str, not {type(path).__name__}")
    if not Path(path).is_file():
        raise Refused(INVALID_FILE)
    return fitting(world, Path(path).read_bytes())


def fitting(world: World, content: bytes) -> Om:
    om = om_file.parse(content)
    if om is None:
        raise Refused(PARSE_MODEL)
    if om.soc != world.soc or version(om.cann) > version(world.cann):
        raise Refused(FAILURE)
    return om


def load(world: World, om: Om) -> int:
    """A handle. Its weights are on the device once more, also where the same file is loaded already."""
    context = world.current
    hbm = work_size(om) + weight_size(om)
    if not world.memory.take(context.device, hbm):
        raise Refused(world.out_of_memory)
    return world.add(Model(world.new_handle(), om, context, _session(om.onnx), hbm)).handle


def weight_size(om: Om) -> int:
    return len(om.onnx)


def work_size(om: Om) -> int:
    """Some room for what is between inputs and outputs: twice the largest gear."""
    largest = om.largest
    ports = (*om.inputs, *om.outputs)
    return 2 * sum(int(np.prod(port.shapes[largest])) * np.dtype(port.dtype).itemsize for port in ports)


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


@lru_cache(maxsize=8)
def _session(onnx: bytes) -> Any:
    """One for all models of the same content: it only does the numbers."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
