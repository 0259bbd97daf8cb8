"""ONNX Runtime: sessions that are quiet, runs on memory that is there, and why one of them cannot be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ops import Array, DeviceError

if TYPE_CHECKING:
    import onnx

_SILENT = 4  # an error arrives as an exception; its log line would only repeat it


def options(threads: int = 0) -> Any:
    """Session options for graphs that share a machine with others: what the CPU device uses, too.

    Spinning threads of several sessions slow each other threefold, and a memory pattern for each shape doubles memory.
    """
    import onnxruntime  # here and below: what runs nothing starts without it

    result = onnxruntime.SessionOptions()
    result.log_severity_level = _SILENT
    result.enable_mem_pattern = False
    result.intra_op_num_threads = threads
    result.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return result


def session(model: onnx.ModelProto | str | Path, threads: int = 0) -> Any:
    """A session on the CPU, of a file or a model in memory."""
    return make(model, options(threads))


def make(model: onnx.ModelProto | str | Path, session_options: Any, disabled: Sequence[str] = ()) -> Any:
    """A session with these options, without the optimizers that are disabled by name."""
    import onnxruntime

    source = str(model) if isinstance(model, (str, Path)) else model.SerializeToString()
    return onnxruntime.InferenceSession(
        source, session_options, providers=["CPUExecutionProvider"], disabled_optimizers=list(disabled)
    )


def loaded(path: str | Path, threads: int) -> Any:
    """A session of a file, for requests. Errors: DeviceError with the runtime's own reason."""
    try:
        return session(path, threads)
    except Exception as error:  # ONNX Runtime has no family of exceptions
        fix = "the runtime cannot load this graph; look at its text"
        raise DeviceError(f"{path}: {first_line(error)}", fix=fix) from error


def run(session: Any, outputs: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
    """What a session answers, where time does not count. Ctrl-C ends it, also a loop that never would end.

    Errors: those of ONNX Runtime.
    """
    import onnxruntime

    run_options = onnxruntime.RunOptions()
    with ThreadPoolExecutor(1) as other:  # this thread is left to hear of Ctrl-C
        try:
            return list(other.submit(session.run, outputs, feeds, run_options).result())
        except BaseException:
            run_options.terminate = True
            raise


class OrtGraph:
    """A file's graph, loaded by ONNX Runtime. Errors: DeviceError with the runtime's own reason."""

    def __init__(self, path: str | Path, threads: int) -> None:
        self.session = loaded(path, threads)
        # An input that no node of a folded graph reads is gone from the session.
        self._reads = {value.name for value in self.session.get_inputs()}

    def bound(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Callable[[], None]:
        """What runs the graph from these arrays into those. What it calls raises DeviceError."""
        binding = self.session.io_binding()
        for name, array in inputs.items():
            if name in self._reads:
                binding.bind_input(name, "cpu", 0, array.dtype, array.shape, address(array))
        for name, array in outputs.items():
            binding.bind_output(name, "cpu", 0, array.dtype, array.shape, address(array))
        return partial(run_bound, self.session, binding)


def run_bound(session: Any, binding: Any) -> None:
    """Run a session on the memory that is bound. Errors: DeviceError with the runtime's own reason."""
    try:
        session.run_with_iobinding(binding)
    except Exception as error:  # ONNX Runtime has no family of exceptions
        raise refused(error) from error


_OUT_OF_RANGE = re.compile(
    r"running (?P<op>\w+) node\. Name:'(?P<node>[^']*)' Status Message: .*?"
    r"(?:idx=(?P<id>-?\d+) must be within the inclusive range \[-\d+,(?P<last>-?\d+)\]"
    r"|invalid index found, index = (?P<index>-?\d+)|Out of range value in index tensor)",
    re.DOTALL,
)


def refused(error: Exception) -> DeviceError:
    """Why a run failed, for a user: what is known is said in our words, anything else in the runtime's own."""
    found = _OUT_OF_RANGE.search(str(error))
    if found is None:
        return DeviceError(first_line(error), fix="the runtime refused the run; look at its text")
    value = found["id"] or found["index"]
    wrong = f"an id is {value}" if value else "an id is out of range"
    fix, last = "give ids of rows that its table has", found["last"]
    if last is not None:
        wrong += f", and the table has {int(last) + 1} rows"
        fix = f"give ids from 0 to {last}"
    node = f"node '{found['node']}' ({found['op']})" if found["node"] else f"a {found['op']} node"
    reason = f"{node}: {wrong}"
    return DeviceError(reason, fix=f"{fix}; if a tokenizer made them, is its vocabulary the model's?")


def address(array: Array) -> int:
    """Where an array lies, to be bound."""
    assert array.flags.c_contiguous
    assert not array.dtype.hasobject
    result: int = array.__array_interface__["data"][0]
    return result


class Fault(NamedTuple):
    """Why ONNX Runtime refuses a model, and what to do where that is known."""

    reason: str
    fix: str


def load_error(model: onnx.ModelProto) -> Fault | None:
    """What is wrong with a model; None when ONNX Runtime takes it."""
    import onnxruntime

    unoptimized = options(threads=1)
    unoptimized.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        make(model, unoptimized)
    except Exception as error:  # ONNX Runtime has no family of exceptions
        reason, version = first_line(error), onnxruntime.__version__
        if "IR version" in reason:
            return Fault(reason, f"export for an older IR, or use a newer onnxruntime than {version}")
        if any(sign in reason for sign in ("opset", "Opset", "is not a registered function/op", "NOT_IMPLEMENTED")):
            return Fault(reason, f"export with standard operators at an opset that onnxruntime {version} knows")
        return Fault(reason, "")
    return None


def first_line(error: BaseException) -> str:
    """The telling part of a message of ONNX or ONNX Runtime."""
    text = re.sub(r"\[\w+Error\] (Inference error\(s\): )?", "", str(error))
    text = re.sub(r"(\[ONNXRuntimeError\] )?: \d+ : [A-Z_]+ : ", "", text)
    text = re.sub(r"/\S+?/(?=\w+\.(?:cc|h):\d+)\S+ ", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:400] if lines else type(error).__name__
