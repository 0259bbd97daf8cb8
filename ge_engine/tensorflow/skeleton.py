"""The skeleton of a frozen graph: its inputs and outputs as an ONNX model has them, with one node that stands for it.

So whatever asks a model for its names, dtypes and shapes asks both kinds alike. OpenVINO knows the outputs: a frozen
graph does not say of what type and shape its values are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import onnx
from onnx import TensorProto, helper

from ops import Array, ModelError

from .. import openvino_runtime, weights
from ..builder import BATCH, IR_VERSION
from ..cores import usable_cores
from ..model_file import status_of
from ..openvino_runtime import OpenVinoGraph, Port
from ..shapes import Shape
from ..skeleton import Skeleton
from .graph_def import AGAIN, Placeholder, read_graph_def
from .reading import Reading

DOMAIN = "gepipe.tensorflow"


@dataclass(frozen=True, eq=False)
class FrozenSkeleton(Skeleton):
    """reading: what OpenVINO says of the graph; its values are the outputs."""

    reading: Reading

    def outputs_at(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Shape | None]:
        """Errors: ModelError when the graph cannot take these inputs."""
        return {port.name: port.shape for port in self.reading.outputs(shapes)}


def read_frozen(path: str, outputs: Sequence[str] = ()) -> FrozenSkeleton:
    """The skeleton of a frozen graph; read once for each version of the file. outputs: its leaves by default.

    Errors: ModelError for a file that is missing, damaged, not frozen, or has no such outputs; or without OpenVINO.
    """
    status = status_of(path, AGAIN)
    return _read(path, tuple(outputs), status.st_mtime_ns, status.st_size)


def run_frozen(skeleton: Skeleton, feeds: Mapping[str, Array]) -> list[Array]:
    """Its outputs for whole arrays. Errors: DeviceError."""
    assert isinstance(skeleton, FrozenSkeleton)
    answer = _compiled(skeleton.reading)(feeds)
    return [answer[name] for name, _ in skeleton.reading.named()]


@lru_cache(maxsize=4)
def _compiled(reading: Reading) -> OpenVinoGraph:
    return OpenVinoGraph(reading.network, usable_cores())


@lru_cache(maxsize=8)
def _read(path: str, outputs: tuple[str, ...], mtime_ns: int, size: int) -> FrozenSkeleton:
    source = read_graph_def(path)
    values = source.outputs(outputs)
    inputs = source.placeholders(values)
    reading = Reading(source, values)
    return FrozenSkeleton(path, _stand_in(path, size, inputs, reading.outputs()), {}, reading)


def _stand_in(path: str, size: int, inputs: Sequence[Placeholder], outputs: Sequence[Port]) -> onnx.ModelProto:
    """A model of one node, which refers to the whole file as if it was a weight of it."""
    content = TensorProto(name="graph_def", data_type=TensorProto.UINT8, dims=[size])
    weights.refer(content, path, 0, size)
    node = helper.make_node(
        "FrozenGraph",
        [*(port.name for port in inputs), content.name],
        [port.name for port in outputs],
        domain=DOMAIN,
        openvino=openvino_runtime.version(),
    )
    ports = [_declared(port.name, port.dtype, port.dims) for port in inputs]
    made = [_declared(port.name, port.dtype, port.shape) for port in outputs]
    graph = helper.make_graph([node], "frozen", ports, made, [content])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(DOMAIN, 1)], ir_version=IR_VERSION)


def _declared(name: str, dtype: str, shape: Sequence[int | str | None] | None) -> onnx.ValueInfoProto:
    """An input or output; the first axis of what varies is the batch."""
    dims = None if shape is None else [size if isinstance(size, int) and size >= 0 else None for size in shape]
    if dims and dims[0] is None:
        return helper.make_tensor_value_info(name, _element(name, dtype), [BATCH, *dims[1:]])
    return helper.make_tensor_value_info(name, _element(name, dtype), dims)


def _element(name: str, dtype: str) -> int:
    """ONNX's number of a dtype."""
    if dtype in ("bytes", "bfloat16"):  # numpy has neither; what reads them says so
        return int(TensorProto.STRING if dtype == "bytes" else TensorProto.BFLOAT16)
    if not dtype:
        raise ModelError(f"'{name}' is neither numbers nor strings", fix="cut the graph behind it")
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
