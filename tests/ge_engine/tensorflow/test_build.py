from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frozen_graphs import constant, dense_answer, dense_graph, float_op, kind, node, placeholder, save, sized_graph
from onnx_files import f32, model_stage

from ge_engine import Model
from ge_engine.build import build
from ge_engine.devices import CpuDevice, NullDevice
from ge_engine.engine import Engine
from ge_engine.gears import Gears
from ge_engine.stage import BuiltStage, StageGraph
from ge_engine.tensorflow.graph_def import read_graph_def
from ops import BuildError, Graded, TensorSpec
from ops.host_stage import Step

pytest.importorskip("openvino")
BATCHES = Gears.of_batches((1, 2, 4))
X = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)


def built(path: Path, *specs: TensorSpec, gears: Gears = BATCHES, **more: Any) -> BuiltStage:
    return build(model_stage(path, *specs, **more), gears, path.parent / "built")


def test_one_file_is_the_graph_of_every_gear_and_another_serves_them_all(tmp_path: Path) -> None:
    stage = built(dense_graph(tmp_path / "m.pb", extra=[float_op("other", "Tanh", "x")]), f32(8))
    assert stage.frozen
    assert {graph.path for graph in stage.static.values()} == {str(tmp_path / "built" / "stage.pb")}
    assert [graph.inputs for graph in stage.static.values()] == [(("x", "float32", (n, 8)),) for n in (1, 2, 4)]
    assert stage.shared == {(): str(tmp_path / "built" / "stage.xml")}
    assert stage.shared_deviation is not None
    assert stage.shared_deviation < 1e-5
    assert (stage.mixing_node, stage.findings) == (None, ())
    assert read_graph_def(str(tmp_path / "built" / "stage.pb")).leaves == ("y", "other")


def test_an_engine_runs_it_on_its_own_buffers(tmp_path: Path) -> None:
    stage = built(dense_graph(tmp_path / "m.pb"), f32(8))
    device = CpuDevice(threads=1, streams=2)
    engine = Engine(stage, device, slots=1, largest=4)
    assert (engine.pads, engine.rows) == (False, 4)
    for rows in (3, 1, 4):
        engine.inputs(0).arrays["x"][:rows] = X[:rows]
        engine.enqueue(0, rows, device.stream(0))
        np.testing.assert_allclose(engine.outputs(0).arrays["y"][:rows], dense_answer(X[:rows]), atol=1e-6)
    engine.close()
    Engine(stage, NullDevice(), slots=1, largest=4).close()


def test_a_fixed_batch_runs_in_its_own_gear(tmp_path: Path) -> None:
    stage = built(dense_graph(tmp_path / "m.pb", batch=2), f32(8), gears=Gears.of_batches((2,)))
    assert (stage.shared, stage.shared_deviation) == ({}, None)
    assert [finding.rule for finding in stage.findings] == ["G52"]
    engine = Engine(stage, CpuDevice(threads=1), slots=1, largest=2)
    engine.inputs(0).arrays["x"][:] = X[:2]
    engine.enqueue(0, 1, CpuDevice().stream(0))
    np.testing.assert_allclose(engine.outputs(0).arrays["y"], dense_answer(X[:2]), atol=1e-6)
    with pytest.raises(BuildError, match="takes 2 samples only; the gears are 1, 2, 4"):
        built(tmp_path / "m.pb", f32(8))


def test_size_gears_run_in_one_graph(tmp_path: Path) -> None:
    image = TensorSpec("uint8", (Graded("H", (4, 6)), Graded("W", (8, 2)), 3))
    gears = Gears.of_sizes(((4, 8), (6, 2)))
    stage = built(sized_graph(tmp_path / "m.pb"), image, gears=gears)
    assert len(stage.shared) == 2
    assert len(set(stage.shared.values())) == 1
    engine = Engine(stage, CpuDevice(threads=1), slots=1, largest=1)
    engine.inputs(0, 1).arrays["image"][:] = 3
    engine.enqueue(0, 1, CpuDevice().stream(0), 1)
    assert (engine.outputs(0, 1).arrays["twice"] == 6).all()
    assert engine.outputs(0, 1).arrays["twice"].shape == (1, 6, 2, 3)


def test_rows_that_depend_on_each_other_are_found(tmp_path: Path) -> None:
    mean = float_op("mean", "Mean", "x", "axis", Tidx=kind("int32"), keep_dims=b"\x28\x01")
    path = save(
        tmp_path / "m.pb",
        placeholder("x", (-1, 8)),
        constant("axis", np.int32([0])),
        mean,
        float_op("y", "Sub", "x", "mean"),
    )
    stage = built(path, f32(8))
    assert stage.mixing_node == "m"
    assert [finding.rule for finding in stage.findings] == ["G50"]


def test_a_graph_that_refuses_a_gear_is_told_with_its_gear(tmp_path: Path) -> None:
    """Two rows can be added to one or two, which OpenVINO knows of four as soon as it is asked."""
    table = constant("table", np.ones((2, 8), np.float32))
    path = save(tmp_path / "m.pb", placeholder("x", (-1, 8)), table, float_op("y", "Add", "x", "table"))
    model = Model(str(path))
    step = Step("m", model, ("x",), (("y", "y", f32(8)),), "graph.py:7")
    with pytest.raises(BuildError, match="fails at gear 1: output y has the shape"):
        build(StageGraph("stage", (step,), (("x", f32(8)),), (("y", f32(8)),), {}), BATCHES, tmp_path / "built")


def test_a_constant_and_a_value_read_twice_are_refused(tmp_path: Path) -> None:
    both = [placeholder("a", (-1, 4)), placeholder("b", (-1, 4)), float_op("y", "Add", "a", "b")]
    path = save(tmp_path / "m.pb", *both)
    with pytest.raises(BuildError, match="'b' is a constant, and read by a TensorFlow graph") as error:
        built(path, f32(4), f32(4), constants={"b": np.ones(4, np.float32)})
    assert error.value.where == "graph.py:7"


def test_a_precision_that_is_not_origin_is_not_emulated(tmp_path: Path) -> None:
    stage = dataclasses.replace(model_stage(dense_graph(tmp_path / "m.pb"), f32(8)), precision="fp16")
    found = build(stage, BATCHES, tmp_path / "built").findings
    assert [(finding.rule, "is not emulated for a TensorFlow graph" in finding.message) for finding in found] == [
        ("G59", True)
    ]


def test_ids_that_index_a_table_are_kept_below_its_length(tmp_path: Path) -> None:
    table = constant("table", np.arange(20, dtype=np.float32).reshape(10, 2))
    axis = constant("axis", np.int32(0))
    gather = node(
        "y", "GatherV2", ("table", "ids", "axis"), Taxis=kind("int32"), Tindices=kind("int64"), Tparams=kind("float32")
    )
    stage = built(
        save(tmp_path / "m.pb", placeholder("ids", (-1, 3), "int64"), table, axis, gather), TensorSpec("int64", (3,))
    )
    assert stage.findings == ()
