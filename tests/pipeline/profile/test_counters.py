from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import TensorSpec
from pipeline import Pipeline, Plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 4), streams=2, name_prefix="a-")


def test_the_names_are_those_of_an_export(plan: Plan) -> None:
    with plan.session() as session:
        assert list(session.counters()) == ["a-vector", "a-vector_1_host0", "a-vector_1_dense"]


def test_a_request_of_the_pipeline_is_a_call_and_one_of_a_stage_is_a_sample(plan: Plan) -> None:
    with plan.session() as session:
        session.run(**tiny.vectors(1)[0])
        session.run_batch(tiny.vectors(6))
        pipeline, host, device = session.counters().values()
    assert (pipeline.succeeded, pipeline.inferences, pipeline.executions) == (2, 7, 2)
    assert (host.succeeded, host.inferences, host.executions, host.batches) == (7, 7, 7, {1: 7})
    assert (device.succeeded, device.inferences, device.executions) == (7, 7, 3)
    assert device.batches == {1: 1, 4: 1, 2: 1}
    assert device.instances == 2


def test_each_sample_of_a_batch_counts_the_whole_batchs_time(plan: Plan) -> None:
    with plan.session(NullDevice(time_us=lambda rows: 2000.0)) as session:
        session.run_batch(tiny.vectors(4))
        pipeline, _, device = session.counters().values()
    assert device.busy_ns >= 2_000_000
    assert device.compute_infer_ns == 4 * device.busy_ns
    assert pipeline.compute_infer_ns >= device.busy_ns
    assert pipeline.request_ns >= pipeline.compute_infer_ns


def test_the_times_of_a_request_add_up(plan: Plan) -> None:
    with plan.session() as session:
        list(session.map(tiny.vectors(12)))
        session.run_batch(tiny.vectors(3))
        found = session.counters().values()
    for one in found:
        parts = one.queue_ns + one.compute_input_ns + one.compute_infer_ns + one.compute_output_ns
        assert one.request_ns == parts > 0


def test_without_a_host_stage_the_copy_is_the_devices_input(tmp_path: Path) -> None:
    pipeline = Pipeline("bare")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        session.run(**tiny.vectors(1)[0])
        _, device = session.counters().values()
    assert device.compute_input_ns > 0


def test_failures_are_counted_where_they_were(tmp_path: Path) -> None:
    pipeline = Pipeline("two")
    picked = tiny.Picky()(pipeline.input("x", tiny.VECTOR))
    y = Model(tiny.gather_model(tmp_path))(pipeline.input("ids", TensorSpec("int64", (4,))))
    pipeline.output(y=y, z=Model(tiny.vector_model(tmp_path))(picked))
    good = {"x": np.zeros(8, np.float32), "ids": np.zeros(4, np.int64)}
    samples = [good, {**good, "x": np.full(8, -1000, np.float32)}, {**good, "ids": np.full(4, 99, np.int64)}]
    with pipeline.compile().session() as session:
        session.run_batch(samples)
        counts = session.counters()
    assert counts["two"].failed == 1
    assert counts["two"].inferences == 1
    assert counts["two_1_host0"].failed == 1
    assert {counts["two_1_dense"].failed, counts["two_1_gather"].failed} == {1}
