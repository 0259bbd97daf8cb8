"""OpenVINO: what reads TensorFlow graphs, and runs them on the CPU. An optional extra, imported where it is needed."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ops import Array, DeviceError, ModelError

Shape = tuple[int, ...]
_DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "boolean": "bool", "string": "bytes",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
_SUFFIXES = (":0", "/sink_port_0")  # of the names of what was TensorFlow's, or ONNX's


class Port(NamedTuple):
    """An input or output. dtype: "" for what is no tensor. shape: None for all that varies; a dim may have a name."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


def openvino() -> Any:
    """The library. Errors: ModelError where it is not installed."""
    try:
        return importlib.import_module("openvino")
    except ImportError as error:
        raise ModelError(
            f"a TensorFlow graph is read and run by OpenVINO, which cannot be imported: {error}",
            fix='pip install "gepipe[openvino]"; or make an ONNX file of the graph: gepipe convert',
        ) from error


def version() -> str:
    """Errors: ModelError where OpenVINO is not installed."""
    return str(openvino().__version__)


def core() -> Any:
    """What reads and compiles: one for the process. Errors: ModelError where OpenVINO is not installed."""
    return _core_of(openvino())


@lru_cache(maxsize=1)
def _core_of(library: Any) -> Any:
    return library.Core()


def read(path: str | os.PathLike[str], original: str = "") -> Any:
    """A model of any kind that OpenVINO knows. original: the file that this one was made from.

    Errors: ModelError with its own reason.
    """
    library = core()
    try:
        return library.read_model(os.fspath(path))
    except RuntimeError as error:
        raise ModelError(
            f"OpenVINO cannot read {original or path}: {_reason(error)}",
            fix="cut the graph before what it does not know, or make an ONNX file of it: gepipe convert",
        ) from error


def write(model: Any, path: str | os.PathLike[str]) -> None:
    """As OpenVINO's own .xml, with the weights in a .bin beside it: what is read again in no time."""
    openvino().save_model(model, os.fspath(path), compress_to_fp16=False)


def ports(values: Iterable[Any]) -> dict[str, Port]:
    """The inputs or outputs of a model, by the names that they have in its file."""
    found = (
        Port(name_of(value), _DTYPES.get(value.element_type.get_type_name(), ""), _dims(value.partial_shape))
        for value in values
    )
    return {port.name: port for port in found}


def name_of(value: Any) -> str:
    """What an input or output is called in the file that the model was read from."""
    name = str(value.get_node().get_friendly_name())
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _dims(shape: Any) -> tuple[int | None, ...] | None:
    if shape.rank.is_dynamic:
        return None
    return tuple(dim.get_length() if dim.is_static else None for dim in shape)


def reshaped(model: Any, shapes: Mapping[str, Shape]) -> Any:
    """A copy for these shapes of the inputs. Errors: ModelError where the model cannot take them."""
    copy = model.clone()
    try:
        copy.reshape({value: list(shapes[name_of(value)]) for value in copy.inputs if name_of(value) in shapes})
    except RuntimeError as error:
        raise ModelError(_reason(error), fix="use sizes that the model was made for") from error
    return copy


class OpenVinoGraph:
    """A model, compiled for the CPU in float32 as it is written.

    threads: of each run. streams: how many run at once.
    Errors: DeviceError with OpenVINO's own reason.
    """

    def __init__(self, model: Any, threads: int, streams: int = 1) -> None:
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",  # a CPU that has bfloat16 would compute in it
            "INFERENCE_NUM_THREADS": threads * streams,
            "NUM_STREAMS": streams,
            "ENABLE_CPU_PINNING": False,  # the cores are shared with other sessions
        }
        try:
            self._compiled = core().compile_model(model, "CPU", settings)
        except RuntimeError as error:
            raise DeviceError(f"OpenVINO cannot compile the graph: {_reason(error)}", fix="look at its text") from error
        self.inputs = ports(self._compiled.inputs)
        self.outputs = ports(self._compiled.outputs)

    def __call__(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for whole arrays, as copies. Errors: DeviceError."""
        request = self._compiled.create_infer_request()
        with _errors():
            for index, name in enumerate(self.inputs):
                request.set_input_tensor(index, _tensor(feeds[name]))
            request.infer()
        return {name: np.array(request.get_output_tensor(i).data) for i, name in enumerate(self.outputs)}

    def bound(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Callable[[], None]:
        """What runs the model from these arrays into those; it raises DeviceError. Errors: DeviceError."""
        request = self._compiled.create_infer_request()
        with _errors():
            for index, name in enumerate(self.inputs):
                request.set_input_tensor(index, _tensor(inputs[name]))
            for index, name in enumerate(self.outputs):
                request.set_output_tensor(index, _tensor(outputs[name]))

        def run() -> None:
            with _errors():
                request.infer()

        return run


def _tensor(array: Array) -> Any:
    """The memory of an array, not a copy."""
    assert array.flags.c_contiguous
    return openvino().Tensor(array, shared_memory=True)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise DeviceError(_reason(error), fix="the runtime refused the run; look at its text") from error


def _reason(error: BaseException) -> str:
    """The telling part of a message of OpenVINO: the last line that is not about its own sources."""
    unknown = re.search(
        r"no (?:conversion rule|translator) found for operation(?:s|\(s\)): (.+)", str(error), re.IGNORECASE
    )
    if unknown:
        return f"it does not know {unknown[1]}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Exception from", "Check '", "While"))]
    return (telling or lines or [type(error).__name__])[-1][:400]
