from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from frozen_graphs import (
    NUMBERS,
    dense_answer,
    dense_graph,
    float_op,
    placeholder,
    save,
    sized_graph,
    text,
)

from ge_engine.openvino_runtime import OpenVinoGraph
from ge_engine.tensorflow.graph_def import read_graph_def
from ge_engine.tensorflow.rewrite import Output, write_graph
from ge_engine.wire import bytes_field, number_field
from ops import Array, ModelError

X = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)


def rewritten(source: Path, inputs: dict[str, str], *outputs: Output) -> Path:
    path = source.with_name("new.pb")
    write_graph(read_graph_def(str(source)), inputs, outputs, path)
    return path


def ran(path: Path, **feeds: Array) -> dict[str, Array]:
    pytest.importorskip("openvino")
    return OpenVinoGraph(str(path), threads=1)(feeds)


def test_inputs_and_outputs_get_their_names_and_one_value_several(tmp_path: Path) -> None:
    source = dense_graph(tmp_path / "m.pb")
    outputs = [
        Output("scores", "y", "float32"),
        Output("before", "product", "float32"),
        Output("again", "y", "float32"),
    ]
    path = rewritten(source, {"x": "image"}, *outputs)
    found = read_graph_def(str(path))
    assert found.leaves == ("scores", "before", "again")
    assert [port.name for port in found.placeholders(found.leaves)] == ["image"]
    answer = ran(path, image=X)
    np.testing.assert_allclose(answer["scores"], dense_answer(X), atol=1e-6)
    assert answer["again"].tobytes() == answer["scores"].tobytes()
    np.testing.assert_allclose(np.tanh(answer["before"]), answer["scores"], atol=1e-6)


def test_a_node_that_has_a_new_name_already_makes_way(tmp_path: Path) -> None:
    path = rewritten(dense_graph(tmp_path / "m.pb"), {"x": "y"}, Output("product", "y"), Output("x", "product"))
    assert set(read_graph_def(str(path)).nodes) == {"y", "w", "y/own", "product/own", "product", "x"}
    answer = ran(path, y=X)
    np.testing.assert_allclose(answer["product"], dense_answer(X), atol=1e-6)
    np.testing.assert_allclose(np.tanh(answer["x"]), answer["product"], atol=1e-6)


def test_what_the_outputs_do_not_need_is_left_out(tmp_path: Path) -> None:
    path = rewritten(sized_graph(tmp_path / "m.pb"), {}, Output("mean_of_it", "mean", "float32"))
    assert set(read_graph_def(str(path)).nodes) == {"image", "pixels", "axes", "mean", "mean_of_it"}


def test_inputs_come_first_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    both = [placeholder("a", (-1, 2)), placeholder("b", (-1, 2)), float_op("c", "Sub", "a", "b")]
    path = rewritten(save(tmp_path / "m.pb", *both), {"b": "second", "a": "first"}, Output("d", "c", "float32"))
    assert list(read_graph_def(str(path)).nodes) == ["second", "first", "c", "d"]
    assert ran(path, first=np.ones((1, 2), np.float32), second=np.zeros((1, 2), np.float32))["d"].tolist() == [[1, 1]]


def test_an_identity_says_its_dtype_and_versions_and_functions_stay(tmp_path: Path) -> None:
    library = bytes_field(2, bytes_field(1, b"a function"))
    source = save(tmp_path / "m.pb", placeholder("x", (-1, 2)), float_op("y", "Tanh", "x"), library=library)
    path = rewritten(source, {}, Output("z", "y", "float32"))
    assert read_graph_def(str(path)).nodes["z"].attributes == {"T": number_field(6, NUMBERS["float32"])}
    assert library in path.read_bytes()
    assert bytes_field(4, number_field(1, 1087)) in path.read_bytes()


def test_a_place_beside_another_node_is_forgotten_for_that_may_be_gone(tmp_path: Path) -> None:
    beside = bytes_field(1, text("loc:@w"))
    source = save(tmp_path / "m.pb", placeholder("x", (-1, 2)), float_op("y", "Tanh", "x", _class=beside))
    assert set(read_graph_def(str(rewritten(source, {}, Output("z", "y")))).nodes["y"].attributes) == {"T"}


def test_a_name_that_tensorflow_does_not_allow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="TensorFlow has no value called '_y'"):
        rewritten(dense_graph(tmp_path / "m.pb"), {}, Output("_y", "y"))


def test_a_part_that_no_pb_holds_is_refused_and_a_small_part_of_a_large_file_is_not(tmp_path: Path) -> None:
    source = dense_graph(tmp_path / "m.pb")
    nbytes = 3 << 30
    head = bytes_field(1, b"large") + bytes_field(2, b"Const")  # then an attribute, all of it a hole in the file
    attribute = b"\x2a" + number_field(1, nbytes)[1:]
    with source.open("ab") as file:
        file.write(b"\x0a" + number_field(1, len(head) + len(attribute) + nbytes)[1:] + head + attribute)
        file.truncate(file.tell() + nbytes)
    assert rewritten(source, {}, Output("z", "y")).stat().st_size < 1000
    with pytest.raises(ModelError, match=r"need 32\d+ bytes of it, and a \.pb holds 2147483647"):
        rewritten(source, {}, Output("z", "large"))
