from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import tiny

from ge_engine.build import BuiltStage
from ge_engine.devices.null import POISON, NullDevice, NullProgram
from ge_engine.gears import Gear
from ops import DeviceError


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> BuiltStage:
    folder: Path = tmp_path_factory.mktemp("models")
    plan = tiny.vector_pipeline(folder).compile(gears=(1, 4))
    return plan.built["dense"]  # the plan goes, its graphs are not opened here


def load(device: NullDevice, stage: BuiltStage) -> NullProgram:
    return device.load(stage, slots=2, rows=4)


def test_outputs_are_poisoned_until_synchronize(stage: BuiltStage) -> None:
    device = NullDevice()
    program, stream = load(device, stage), device.stream(0)
    program.enqueue(0, Gear(4), stream)
    outputs = program.outputs(0, Gear(4))
    assert (outputs.block == POISON).all()
    stream.synchronize()
    assert not (outputs.arrays["y"].view(np.uint8) == POISON).any()


def test_inputs_are_read_at_stream_time_not_when_enqueued(stage: BuiltStage) -> None:
    device = NullDevice()
    program, stream = load(device, stage), device.stream(0)
    inputs, outputs = program.inputs(0, Gear(1)).arrays["scale"], program.outputs(0, Gear(1)).arrays["y"]
    inputs[0] = 1
    program.enqueue(0, Gear(1), stream)
    stream.synchronize()
    want = outputs[0].copy()
    inputs[0] = 2
    program.enqueue(0, Gear(1), stream)
    inputs[0] = 1  # reused too early: a real card would read this
    stream.synchronize()
    assert outputs[0].tolist() == want.tolist()


def test_each_output_row_depends_on_the_same_input_row_alone(stage: BuiltStage) -> None:
    device = NullDevice()
    program, stream = load(device, stage), device.stream(0)
    inputs, outputs = program.inputs(0, Gear(4)).arrays["scale"], program.outputs(0, Gear(4)).arrays["y"]
    inputs[:] = np.random.default_rng(0).normal(size=(4, 8))
    program.enqueue(0, Gear(4), stream)
    stream.synchronize()
    before = outputs.copy()
    inputs[2] += 1
    program.enqueue(0, Gear(4), stream)
    stream.synchronize()
    assert (outputs != before).any(axis=1).tolist() == [False, False, True, False]


def test_the_device_computes_in_memory_of_its_own(stage: BuiltStage) -> None:
    used: list[np.ndarray] = []
    device = NullDevice(compute=lambda inputs, outputs: used.extend((*inputs.values(), *outputs.values())))
    program, stream = load(device, stage), device.stream(0)
    program.enqueue(0, Gear(4), stream)
    stream.synchronize()
    host = (program.inputs(0, Gear(4)).block, program.outputs(0, Gear(4)).block)
    assert len(used) == 2
    assert not any(np.shares_memory(mine, theirs) for mine in used for theirs in host)


def test_a_size_that_is_no_gear_is_refused(stage: BuiltStage) -> None:
    device = NullDevice(pads=True)
    with pytest.raises(DeviceError, match="3 is not a gear") as error:
        load(device, stage).enqueue(0, Gear(3), device.stream(0))
    assert "run one of 1, 4" in error.value.fix


def test_synchronize_takes_the_modelled_time_of_all_that_was_enqueued(stage: BuiltStage) -> None:
    device = NullDevice(time_us=lambda n: 10_000 + 1000 * n)
    program, stream = load(device, stage), device.stream(0)
    start = time.perf_counter()
    program.enqueue(0, Gear(1), stream)
    program.enqueue(1, Gear(4), stream)
    stream.synchronize()
    assert time.perf_counter() - start >= 0.025


def test_two_in_flight_are_computed_one_after_the_other_and_waited_for_one_by_one(stage: BuiltStage) -> None:
    device = NullDevice(time_us=lambda n: 10_000, in_flight=2)
    program, streams = load(device, stage), [device.stream(index) for index in range(3)]
    assert streams[0].shares == streams[1].shares != streams[2].shares
    start = time.perf_counter()
    for slot, stream in enumerate(streams[:2]):
        program.enqueue(slot, Gear(1), stream)
    took = []
    for stream in streams[:2]:
        stream.synchronize()
        took.append(time.perf_counter() - start)
    assert took[0] >= 0.01
    assert took[1] >= 0.02
