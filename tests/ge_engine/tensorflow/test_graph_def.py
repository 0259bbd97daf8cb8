from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from frozen_graphs import constant, dense_graph, float_op, kind, node, placeholder, save, sized_graph
from onnx_files import scale_model

from ge_engine.tensorflow.graph_def import GraphDef, Placeholder, read_graph_def
from ge_engine.wire import bytes_field, number_field
from ops import ModelError


def read(path: Path) -> GraphDef:
    return read_graph_def(str(path))


def test_the_outputs_are_what_no_node_reads(tmp_path: Path) -> None:
    aside = [
        node("check", "Assert", ("x",)),
        constant("left_over", np.float32([1])),
        float_op("guarded", "Identity", "product", "^check"),
    ]
    graph = read(dense_graph(tmp_path / "m.pb", extra=aside))
    assert graph.leaves == ("y", "guarded")
    assert graph.outputs(()) == ("y", "guarded")
    assert graph.outputs(("product:0", "split:1".replace("split", "y"))) == ("product", "y:1")
    assert graph.needed(["guarded"]) == {"guarded", "product", "x", "w", "check"}


def test_the_inputs_are_the_placeholders_that_an_output_needs(tmp_path: Path) -> None:
    graph = read(dense_graph(tmp_path / "m.pb", extra=[placeholder("other", None, "int64")]))
    assert graph.placeholders(["y"]) == (Placeholder("x", "float32", (-1, 8)),)
    both = read(
        save(
            tmp_path / "n.pb",
            placeholder("a", (3, 4), "float16"),
            placeholder("b", None),
            float_op("c", "Add", "a", "b"),
        )
    )
    assert both.placeholders(["c"]) == (Placeholder("a", "float16", (3, 4)), Placeholder("b", "float32", None))
    assert read(sized_graph(tmp_path / "s.pb")).placeholders(["mean"])[0].dims == (-1, -1, -1, 3)


def test_an_output_that_is_not_there_is_told_with_the_near_miss(tmp_path: Path) -> None:
    graph = read(dense_graph(tmp_path / "m.pb"))
    for name, fix in (
        ("prodct:0", "did you mean 'product'?"),
        ("boxes", "use y"),
        ("^y", "did you mean 'y'?"),
        ("y:-1", "did you mean 'y'?"),
        ("y:last", "did you mean 'y'?"),
        ("y:", "did you mean 'y'?"),
    ):
        with pytest.raises(ModelError, match="has no value") as error:
            graph.outputs([name])
        assert error.value.fix == fix
    with pytest.raises(ModelError, match="'y' is named twice"):
        graph.outputs(["y", "y:0"])


def test_a_graph_without_inputs_or_outputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no output"):
        read(save(tmp_path / "m.pb", placeholder("x", (1, 2)))).outputs(())
    with pytest.raises(ModelError, match="no input that its outputs depend on"):
        read(save(tmp_path / "n.pb", constant("w", np.float32([1])), float_op("y", "Tanh", "w"))).placeholders(["y"])
    with pytest.raises(ModelError, match="reads a node 'gone', which it does not have"):
        read(save(tmp_path / "o.pb", float_op("y", "Tanh", "gone"))).placeholders(["y"])


def test_variables_are_refused_for_their_values_are_elsewhere(tmp_path: Path) -> None:
    variable = node("w", "VarHandleOp", dtype=kind("float32"))
    with pytest.raises(ModelError, match="is not frozen: 1 variables, as 'w'") as error:
        read(save(tmp_path / "m.pb", placeholder("x", (-1, 8)), variable, float_op("y", "MatMul", "x", "w")))
    assert error.value.fix.startswith("freeze the model again: gepipe convert")


def test_what_else_ends_in_pb_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    scale_model(path)
    with pytest.raises(ModelError, match="is an ONNX model") as error:
        read(path)
    assert error.value.fix == "call it .onnx: npu_ge, too, goes by the ending"
    path.write_bytes(number_field(1, 1) + bytes_field(2, b""))
    with pytest.raises(ModelError, match="the graph of a SavedModel") as error:
        read(path)
    assert error.value.fix == f"freeze it: gepipe convert {tmp_path} -o model.pb"
    for data in (b"\x89PNG\r\n\x1a\n", b"hello", bytes_field(2, b"x"), bytes_field(1, b"\x12\x01a")):
        path.write_bytes(data)
        with pytest.raises(ModelError, match="is not a frozen TensorFlow graph"):
            read(path)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    whole = dense_graph(tmp_path / "m.pb").read_bytes()
    for length in range(1, len(whole) - 1, 7):
        (tmp_path / "cut.pb").write_bytes(whole[:length])
        try:
            graph = read(tmp_path / "cut.pb")  # it may end behind a node: then that node is missed
            graph.placeholders(graph.outputs(()))
        except ModelError:
            continue
        assert graph.leaves == ("product",) or length > len(whole) - 8


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([float_op("y", "Tanh", "x"), float_op("y", "Relu", "x")], "has two nodes called 'y'"),
        ([float_op("y:1", "Tanh", "x")], "has a node 'y:1': no name begins with"),
        ([float_op("^y", "Tanh", "x")], "has a node '\\^y': no name begins with"),
        ([float_op("a", "Add", "x", "b"), float_op("b", "Tanh", "a:0")], "wait for each other: a <- b <- a"),
        ([float_op("a", "Add", "x", "a")], "wait for each other: a <- a"),
        ([node("z", "Placeholder", dtype=kind("float32"), shape=bytes_field(7, b"\x12\x05a"))], "is cut short"),
        ([node("z", "Placeholder", dtype=b"\xff\xff")], "is cut short"),
    ],
)
def test_nodes_that_no_graph_has_are_refused(tmp_path: Path, nodes: list[bytes], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read(save(tmp_path / "m.pb", placeholder("x", (-1, 8)), *nodes))


def test_a_loop_reads_what_the_round_before_made(tmp_path: Path) -> None:
    loop = [
        node("entered", "Enter", ("x",)),
        node("merged", "Merge", ("entered", "again")),
        float_op("y", "Tanh", "merged"),
        node("again", "NextIteration", ("y",)),
    ]
    assert read(save(tmp_path / "m.pb", placeholder("x", (-1, 8)), *loop)).needed(["y"]) >= {"again", "x"}
