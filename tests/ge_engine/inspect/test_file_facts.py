from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_files import node, save, tensor

from ge_engine.inspect import facts_of
from ge_engine.inspect.file_facts import DataFile, file_facts
from ge_engine.skeleton import read_unchecked


def test_what_the_file_says(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Neg", ["m"], ["y"]), node("Neg", ["m"], ["z"])]
    outputs = [tensor("y", ("batch", 4)), tensor("z", None)]
    weights = {"w": np.ones((1000, 4), np.float32)}
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (None, 1000))], outputs, weights, metadata={"names": "a"})
    facts = file_facts(str(path), read_unchecked(str(path)))
    assert (facts.ir, facts.opset, facts.num_nodes, facts.weights) == (8, 17, 3, 16000)
    assert facts.operators == {"MatMul": 1, "Neg": 2}
    assert [str(port) for port in (*facts.inputs, *facts.outputs)] == [
        "float32[?, 1000]",
        "float32[batch, 4]",
        "float32",
    ]
    assert facts.largest_weight == ("w", 16000)
    assert facts.metadata == {"names": "a"}
    assert facts.data_files == ()


def test_weights_of_old_files_are_no_inputs(tmp_path: Path) -> None:
    inputs = [tensor("x", ("batch", 4)), tensor("w", (4,))]
    path = save(
        tmp_path / "m.onnx",
        [node("Mul", ["x", "w"], ["y"])],
        inputs,
        [tensor("y", ("batch", 4))],
        {"w": np.ones(4, np.float32)},
        ir=3,
        opset=9,
    )
    facts = file_facts(str(path), read_unchecked(str(path)))
    assert [port.name for port in facts.inputs] == ["x"]


def test_nodes_inside_control_flow_count(tmp_path: Path) -> None:
    body = helper.make_graph([node("Neg", ["x"], ["a"])], "body", [], [tensor("a", (1,))])
    path = save(
        tmp_path / "m.onnx",
        [node("If", ["is"], ["y"], then_branch=body, else_branch=body)],
        [tensor("x", (1,)), tensor("is", (1,), np.bool_)],
        [tensor("y", (1,))],
    )
    assert file_facts(str(path), read_unchecked(str(path))).operators == {"If": 1, "Neg": 2}


def test_a_model_of_3_gib_is_looked_into_without_its_weights(tmp_path: Path) -> None:
    rows = 3 << 18
    with open(tmp_path / "m.data", "wb") as file:
        file.truncate(rows * 4096)  # a hole: it takes no room on the disk
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1024, rows], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "m.data"), ("offset", "0"), ("length", str(rows * 4096))):
        weight.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], ["y"])],
        "g",
        [tensor("x", ("batch", 1024))],
        [tensor("y", ("batch", rows))],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    facts = facts_of(str(tmp_path / "m.onnx"), (1, 8))
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 300 << 20
    assert facts.file.data_files == (DataFile("m.data", 3 << 30, 3 << 30),)
    assert facts.weights == 3 << 30
    assert facts.gears[1].flops == 2 * 8 * 1024 * rows
    assert facts.memory(2) == 2 * (3 << 30) + 2 * 8 * 4 * (1024 + rows)


def test_a_data_file_that_is_too_short_says_how_much_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    weights = {"w": np.ones((1000, 4), np.float32)}
    save(path, [node("MatMul", ["x", "w"], ["y"])], [tensor("x", (1, 1000))], [tensor("y", (1, 4))], weights)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "m.data").write_bytes(b"\0" * 100)
    facts = facts_of(str(path))
    assert facts.file.data_files == (DataFile("m.data", 100, 16000),)
    assert facts.error is not None


def test_sizes_that_are_none_are_axes_that_vary(tmp_path: Path) -> None:
    """-1 as some exporters write it, and onnx's own name for what it does not know."""
    dims = [(-1, 4), ("unk__7", 4), ("?", 4), (0, 4)]
    for index, shape in enumerate(dims):
        path = save(tmp_path / f"{index}.onnx", [node("Neg", ["x"], ["y"])], [tensor("x", shape)], [tensor("y", shape)])
        (port,) = file_facts(str(path), read_unchecked(str(path))).inputs
        assert str(port) == "float32[?, 4]"
