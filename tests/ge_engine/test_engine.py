from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from onnx_files import model_stage, node, save, tensor

from ge_engine.build import BuiltStage, build
from ge_engine.devices import CpuDevice, Device, NullDevice
from ge_engine.engine import Engine
from ge_engine.gears import Gears
from ops import DeviceError, Graded, TensorSpec

SIZES = TensorSpec("float32", (3, Graded("H", (8, 8)), Graded("W", (8, 6))))


@pytest.fixture(scope="module")
def batched(tmp_path_factory: pytest.TempPathFactory) -> BuiltStage:
    folder = tmp_path_factory.mktemp("models")
    return build(model_stage(tiny.vector_model(folder), tiny.VECTOR), Gears.of_batches((1, 2, 4)), folder / "built")


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> BuiltStage:
    folder = tmp_path_factory.mktemp("models")
    return build(model_stage(tiny.picture_model(folder), SIZES), Gears.of_specs([SIZES], (1,)), folder / "built")


def alone(stage: BuiltStage) -> BuiltStage:
    """The stage without a graph for every batch size."""
    return dataclasses.replace(stage, shared={})


@pytest.mark.parametrize("pads", [False, True])
def test_a_batch_runs_as_it_is_or_in_the_smallest_gear_that_holds_it(batched: BuiltStage, pads: bool) -> None:
    ran: list[int] = []
    device = NullDevice(pads=pads, compute=lambda inputs, outputs: ran.append(len(inputs["x"])))
    engine, stream = Engine(batched, device, slots=1, largest=4), device.stream(0)
    for n in (1, 2, 3, 4):
        engine.enqueue(0, n, stream)
        stream.synchronize()
    assert ran == ([1, 2, 4, 4] if pads else [1, 2, 3, 4])


def test_a_stage_of_sizes_runs_as_many_rows_as_there_may_be_or_one_where_it_is_padded(sized: BuiltStage) -> None:
    cpu, padding = Engine(sized, CpuDevice(), 1, 16), Engine(sized, NullDevice(), 1, 16)
    assert (cpu.rows, padding.rows) == (16, 1)
    assert [gear.index for gear in cpu.sizes] == [0, 1]
    assert cpu.inputs(0, 1).arrays["x"].shape == (16, 3, 8, 6)


def test_without_a_shared_graph_batches_fit_the_gears_on_the_cpu_too(batched: BuiltStage) -> None:
    device = CpuDevice()
    engine, shared = Engine(alone(batched), device, 1, 4), Engine(batched, device, 1, 4)
    assert (engine.pads, shared.pads) == (True, False)
    x = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    for one in (engine, shared):
        one.inputs(0).arrays["x"][:] = x
        one.enqueue(0, 3, device.stream(0))
    np.testing.assert_allclose(engine.outputs(0).arrays["y"][:3], shared.outputs(0).arrays["y"][:3], rtol=1e-6)


def test_where_one_size_has_no_shared_graph_every_size_still_runs(sized: BuiltStage) -> None:
    first, _ = sized.shared
    device = CpuDevice()
    engine = Engine(dataclasses.replace(sized, shared={first: sized.shared[first]}), device, 1, 16)
    assert engine.rows == 1
    for size in (0, 1):
        engine.inputs(0, size).arrays["x"][:] = 1
        engine.enqueue(0, 1, device.stream(0), size)
        assert engine.outputs(0, size).arrays["y"].any()


@pytest.mark.parametrize(("device", "batch"), [(NullDevice(), "batch"), (CpuDevice(), 4)], ids=["pads", "fixed"])
def test_rows_that_mix_and_cannot_run_alone_are_refused_before_they_run(
    tmp_path: Path, device: Device, batch: Any
) -> None:
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (batch, 8))], [tensor("y", (batch, 8))])
    stage = build(model_stage(path, tiny.VECTOR), Gears.of_batches((4,)), tmp_path / "built")
    with pytest.raises(DeviceError, match=r"since 'm/DynamicQuantizeLinear' makes .*; its gears are 4") as error:
        Engine(stage, device, 1, 4)
    assert "have 1 among the gears" in error.value.fix


def test_a_failure_names_the_stage_the_gear_and_the_stream(tmp_path: Path) -> None:
    stage = model_stage(tiny.gather_model(tmp_path), TensorSpec("int64", (4,)), name="words")
    device = CpuDevice()
    engine = Engine(build(stage, Gears.of_batches((1, 2)), tmp_path / "built"), device, 1, 2)
    engine.inputs(0).arrays["ids"][:] = 99
    with pytest.raises(DeviceError, match=r"stage 'words', gear 2, stream 5 of cpu: .*an id is 99"):
        engine.enqueue(0, 2, device.stream(5))


def test_the_cost_of_a_step_is_measured_for_each_batch_size(batched: BuiltStage) -> None:
    device = NullDevice(time_us=lambda n: 5_000.0 * n)
    costs = Engine(batched, device, 1, 4).measure_us(device.stream(0))
    assert list(costs) == [1, 2, 4]
    assert all(cost >= 5_000 * n for n, cost in costs.items())
