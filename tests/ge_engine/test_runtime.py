from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_files import node, onnx_model, tensor

from ge_engine import runtime
from ops import DeviceError


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(DeviceError, match=r"m\.onnx: .*[Pp]rotobuf"):
        runtime.loaded(tmp_path / "m.onnx", threads=1)


def test_what_cannot_be_bound_has_no_address() -> None:
    array = np.zeros((2, 3), np.float32)
    assert runtime.address(array) == array.ctypes.data
    for other in (array.T, np.array([b"a"], object)):
        with pytest.raises(AssertionError):
            runtime.address(other)


def test_ctrl_c_ends_a_run_that_never_would_end() -> None:
    """Python alone hears of it when the library's call returns."""
    more, v, going = tensor("more", (), "bool"), tensor("v", (1,)), tensor("going", (), "bool")
    doubled = tensor("doubled", (1,))
    nodes = [node("Identity", ["more"], ["going"]), node("Add", ["v", "v"], ["doubled"])]
    body = helper.make_graph(nodes, "body", [tensor("i", (), "int64"), more, v], [going, doubled])
    loop = node("Loop", ["", "yes", "x"], ["y"], body=body)
    session = runtime.session(onnx_model([loop], [tensor("x", (1,))], [tensor("y", (1,))], {"yes": np.array(True)}))

    class Interrupted:
        def run(self, *args: Any) -> Any:
            os.kill(os.getpid(), signal.SIGINT)
            return session.run(*args)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            runtime.run(Interrupted(), ["y"], {"x": np.float32([1])})
    finally:
        signal.signal(signal.SIGINT, before)


def looks_up(op: str, rows: int) -> onnx.ModelProto:
    """A table of so many rows, in which ids are looked up."""
    table = numpy_helper.from_array(np.zeros((rows, 2), np.float32), "table")
    node = helper.make_node(op, ["table", "ids"], ["y"], name="words/look_up")
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [ids], [y], [table])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("op", "wrong", "remedy"),
    [
        ("Gather", "an id is 99999, and the table has 1000 rows", "give ids from 0 to 999"),
        ("GatherND", "an id is 99999", "give ids of rows that its table has"),
    ],
)
def test_an_id_out_of_range_is_named_with_its_node_and_the_rows_that_there_are(
    op: str, wrong: str, remedy: str
) -> None:
    session = runtime.session(looks_up(op, 1000))
    binding = session.io_binding()
    binding.bind_cpu_input("ids", np.array([[99999]], np.int64))
    binding.bind_output("y")
    with pytest.raises(DeviceError) as caught:
        runtime.run_bound(session, binding)
    assert caught.value.message == f"node 'words/look_up' ({op}): {wrong}"
    assert caught.value.fix == f"{remedy}; if a tokenizer made them, is its vocabulary the model's?"


def test_any_other_refusal_of_a_run_keeps_the_runtimes_words() -> None:
    error = runtime.refused(RuntimeError("[ONNXRuntimeError] : 1 : FAIL : something else\nmore"))
    assert (error.message, error.fix) == ("something else", "the runtime refused the run; look at its text")
