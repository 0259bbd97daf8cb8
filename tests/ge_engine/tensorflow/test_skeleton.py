from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from frozen_graphs import constant, dense_answer, dense_graph, float_op, kind, node, placeholder, save, sized_graph
from onnx_files import f32, scale_model

from ge_engine import Model
from ge_engine.tensorflow.skeleton import read_frozen
from ops import Graded, ModelError, SpecError, TensorSpec
from ops.serial import op_from_json, op_to_json

pytest.importorskip("openvino")


def test_a_model_has_the_names_and_specs_of_its_graph(tmp_path: Path) -> None:
    model = Model(str(dense_graph(tmp_path / "m.pb")))
    assert (model.model_name, model.input_names, model.output_names, model.labels) == ("m", ("x",), ("y",), ())
    assert model.infer(f32(8)) == (f32(4),)
    assert model.fixed_batch is None
    assert Model(str(dense_graph(tmp_path / "two.pb", batch=2))).fixed_batch == 2


def test_the_outputs_are_those_that_are_asked_for_in_their_order(tmp_path: Path) -> None:
    model = Model(str(dense_graph(tmp_path / "m.pb")), outputs=["y:0", "product"])
    assert model.output_names == ("y", "product")
    y, product = model.run(np.ones(8, np.float32))
    np.testing.assert_allclose(np.tanh(product), y, atol=1e-6)
    assert Model(str(tmp_path / "m.pb"), outputs="product").output_names == ("product",)
    document = json.loads(json.dumps(op_to_json(model, str(tmp_path))))
    assert op_from_json(document, str(tmp_path)) == model
    assert hash(model)


def test_one_sample_runs_on_the_file_as_it_is(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=8).astype(np.float32)
    (y,) = Model(str(dense_graph(tmp_path / "m.pb"))).run(x)
    np.testing.assert_allclose(y, dense_answer(x), atol=1e-6)
    out = np.empty(4, np.float32)
    assert Model(str(dense_graph(tmp_path / "two.pb", batch=2))).run(x, out=out)[0] is out
    np.testing.assert_allclose(out, dense_answer(x), atol=1e-6)


def test_sizes_are_followed_through_the_graph(tmp_path: Path) -> None:
    model = Model(str(sized_graph(tmp_path / "m.pb")))
    image = TensorSpec("uint8", (Graded("H", (4, 6)), Graded("W", (8, 2)), 3))
    mean, twice = model.infer(image)
    assert mean == f32(3)
    assert [twice.at_gear(index) for index in (0, 1)] == [(4, 8, 3), (6, 2, 3)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (TensorSpec("uint8", (8,)), r"dtype is uint8, model 'm' wants float32\[batch,8\]"),
        (f32(2, 8), r"rank is 2, model 'm' wants float32\[batch,8\]: rank 1 and the batch"),
        (f32(9), r"dim 0 is 9, model 'm' wants float32\[batch,8\]"),
        (f32("n"), r"dim 0 \(n\) varies; a Model needs fixed sizes"),
    ],
)
def test_inputs_are_checked_as_those_of_an_onnx_file(tmp_path: Path, spec: TensorSpec, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Model(str(dense_graph(tmp_path / "m.pb"))).infer(spec)


def test_a_number_a_sample_is_no_output_and_others_can_be_named(tmp_path: Path) -> None:
    count = float_op("count", "Max", "product", "one", Tidx=kind("int32"))
    path = dense_graph(tmp_path / "m.pb", extra=[constant("one", np.int32(1)), count])
    with pytest.raises(SpecError, match=r"output 'count' is \[2\] for 2 samples: one number a sample") as error:
        Model(str(path)).infer(f32(8))
    assert "Model(outputs=...) names the others" in error.value.fix
    assert Model(str(path), outputs=("y",)).infer(f32(8)) == (f32(4),)


def test_an_output_that_is_not_there_is_told_with_the_near_miss(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no value 'prodct'") as error:
        _ = Model(str(dense_graph(tmp_path / "m.pb")), outputs=("prodct",)).output_names
    assert error.value.fix == "did you mean 'product'?"


def test_strings_are_refused(tmp_path: Path) -> None:
    same = node("same", "Identity", ("words",), T=kind("bytes"))
    path = save(tmp_path / "m.pb", placeholder("words", (-1, 3), "bytes"), same)
    with pytest.raises(SpecError, match="'words' holds strings"):
        Model(str(path)).infer(TensorSpec("bytes", (3,)))


def test_an_op_that_openvino_does_not_know_is_named(tmp_path: Path) -> None:
    path = save(tmp_path / "m.pb", placeholder("x", (-1, 3)), float_op("y", "MyOwnOp", "x"))
    with pytest.raises(ModelError, match=r"cannot read .*m.pb: it does not know MyOwnOp"):
        Model(str(path)).infer(f32(3))


def test_outputs_are_for_a_frozen_graph_alone(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"outputs is \('y',\), and .*m.onnx is no TensorFlow graph"):
        Model(str(scale_model(tmp_path / "m.onnx")), outputs=("y",)).infer(f32(4))


def test_a_file_is_read_once_for_each_of_its_versions(tmp_path: Path) -> None:
    path = dense_graph(tmp_path / "m.pb")
    first = read_frozen(str(path))
    assert read_frozen(str(path)) is first
    dense_graph(path, size=6)
    assert Model(str(path)).infer(f32(6)) == (f32(4),)
