from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tiny

from ge_engine.cores import usable_cores
from ge_engine.devices import cpu
from ge_engine.devices.cpu import CpuDevice, CpuStream
from ge_engine.gears import Gear
from ops import DeviceError
from pipeline import Plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 4))


def test_any_batch_size_runs_on_the_bound_buffers(plan: Plan) -> None:
    device = CpuDevice(threads=1)
    program, stream = device.load(plan.built["dense"], slots=1, rows=4), device.stream(0)
    inputs, outputs = program.inputs(0, Gear(1)).arrays["scale"], program.outputs(0, Gear(1)).arrays["y"]
    inputs[:] = np.random.default_rng(0).normal(size=(4, 8))
    static = plan.built["dense"].static[Gear(4)]
    (want,) = onnxruntime.InferenceSession(static.path, providers=["CPUExecutionProvider"]).run(None, {"scale": inputs})
    for n in (1, 2, 3, 4):
        outputs[:] = 0
        program.enqueue(0, Gear(n), stream)
        stream.synchronize()
        np.testing.assert_allclose(outputs[:n], want[:n], rtol=1e-6)
        assert not outputs[n:].any()


def test_the_cores_are_divided_among_the_streams() -> None:
    assert CpuDevice(streams=1).threads == usable_cores()
    assert CpuDevice(streams=64).threads == max(1, usable_cores() // 64)
    assert CpuDevice(threads=3, streams=2).threads == 3
    assert usable_cores() <= (os.cpu_count() or 1)


def test_each_stream_has_a_session_of_its_own_while_the_weights_are_light(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = plan.built["dense"]
    monkeypatch.setattr(cpu, "usable_cores", lambda: 3)

    def sessions(streams: int) -> int:
        program = CpuDevice(threads=1, streams=streams).load(stage, slots=streams, rows=4)
        want = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
        for index in range(streams):
            program.inputs(index, Gear(4)).arrays["scale"][:] = want
            program.enqueue(index, Gear(4), CpuStream(index))
        answers = [program.outputs(index, Gear(4)).arrays["y"].tobytes() for index in range(streams)]
        assert answers == answers[:1] * streams
        return len({id(graph.session) for one in program._graphs for graph in one.values()})  # type: ignore[attr-defined]

    assert [sessions(streams) for streams in (1, 2, 3, 5)] == [1, 2, 3, 3]
    (weights,) = Path(stage.shared[()]).parent.glob("*.weights")
    loaded = Path(stage.shared[()]).stat().st_size + weights.stat().st_size
    monkeypatch.setattr(cpu, "_EXTRA_BYTES", loaded)
    assert [sessions(streams) for streams in (1, 2, 3, 5)] == [1, 2, 1, 1]


def test_a_graph_that_is_gone_is_a_device_error_with_its_path(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1,), cache=False)
    for path in Path(plan.built["dense"].shared[()]).parent.glob("*.onnx"):
        path.unlink()
    with pytest.raises(DeviceError, match=r"dense.*\.onnx"):
        CpuDevice().load(plan.built["dense"], slots=1, rows=1)


def test_a_precision_is_emulated_in_every_batch_size(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 4), precision="fp16")
    program = CpuDevice(threads=1).load(plan.built["dense"], slots=1, rows=4)
    inputs, outputs = program.inputs(0, Gear(1)).arrays["scale"], program.outputs(0, Gear(1)).arrays["y"]
    inputs[:] = np.random.default_rng(0).normal(size=(4, 8))
    path = plan.built["dense"].static[Gear(4)].path
    (wide,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"scale": inputs})
    for n in (1, 2, 4):
        program.enqueue(0, Gear(n), CpuDevice().stream(0))
        got = outputs[:n]
        np.testing.assert_array_equal(got, got.astype(np.float16).astype(np.float32))
        assert not np.array_equal(got, wide[:n])
        np.testing.assert_allclose(got, wide[:n], atol=0.01)
