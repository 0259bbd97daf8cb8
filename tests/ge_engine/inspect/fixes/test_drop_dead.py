from __future__ import annotations

from pathlib import Path

import numpy as np
from mended import mended
from onnx_files import node, save, tensor


def test_outputs_that_the_caller_has_already_are_left_out_with_what_they_are(tmp_path: Path) -> None:
    nodes = [node("Neg", ["x"], ["y"]), node("Exp", ["w"], ["scale"])]
    outputs = [tensor("y", ("batch", 4)), tensor("scale", (1,)), tensor("w", (1,)), tensor("x", ("batch", 4))]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], outputs, {"w": np.float32([1.5])})
    done = mended(path)
    assert done.made["outputs"].done == (
        "output 'scale' is the same for every sample: left out",
        "output 'w' is an input or a weight, which no node makes (1.5): left out",
        "output 'x' is an input or a weight, which no node makes: left out",
    )
    assert list(done.ends) == ["x", "y"]
    assert done.operators == ["Neg"]
    assert not done.model.graph.initializer


def test_an_output_that_is_listed_twice_is_listed_once(tmp_path: Path) -> None:
    outputs = [tensor("y", ("batch", 4)), tensor("y", ("batch", 4))]
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], [tensor("x", ("batch", 4))], outputs)
    done = mended(path)
    assert done.made["outputs"].done == ("output 'y' is listed 2 times: listed once",)
    assert len(done.model.graph.output) == 1


def test_nodes_and_weights_that_lead_nowhere_are_left_out(tmp_path: Path) -> None:
    nodes = [node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["a"]), node("Exp", ["a"], ["b"])]
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))], {"w": np.float32([1])}
    )
    assert mended(path).made["dead"].done == (
        "2 nodes that no output needs: left out",
        "1 weights that nothing reads: left out",
    )


def test_what_an_if_reads_is_not_dead(tmp_path: Path) -> None:
    from onnx import helper

    then = helper.make_graph([node("Add", ["x", "w"], ["a"])], "then", [], [tensor("a", ("batch", 4))])
    other = helper.make_graph([node("Neg", ["x"], ["b"])], "other", [], [tensor("b", ("batch", 4))])
    nodes = [
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Greater", ["most", "zero"], ["is"]),
        node("If", ["is"], ["y"], then_branch=then, else_branch=other),
    ]
    weights = {"zero": np.float32(0), "w": np.float32([1])}
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))], weights)
    assert "dead" not in mended(path).made
