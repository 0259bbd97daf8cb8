from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

import ops
from ge_engine import Model
from ops import Array, DeviceError, TensorSpec
from pipeline import Pipeline, Plan


def test_a_result_is_unchanged_after_100_later_calls(plan: Plan) -> None:
    samples = tiny.vectors(101)
    with plan.session() as session:
        first = session.run(**samples[0])
        before = {key: value.copy() for key, value in first.items()}
        for sample in samples[1:]:
            session.run(**sample)
        assert tiny.same(first, before)
    assert first["y"].flags.owndata


def test_a_result_is_never_the_callers_own_array() -> None:
    pipeline = Pipeline("same")
    pipeline.output(y=tiny.Same()(pipeline.input("x", tiny.VECTOR)))
    (sample,) = tiny.vectors(1)
    with pipeline.compile().session() as session:
        answer = session.run(**sample)["y"]
    assert answer is not sample["x"]
    assert not np.shares_memory(answer, sample["x"])


def test_a_sample_that_fails_the_device_fails_alone(tmp_path: Path) -> None:
    pipeline = Pipeline("ids")
    pipeline.output(y=Model(tiny.gather_model(tmp_path))(pipeline.input("ids", TensorSpec("int64", (4,)))))
    samples = [
        {"ids": np.array(row)} for row in ([1, 2, 3, 4], [1, 2, 3, 99], [5, 6, 7, 8], [-99, 0, 0, 0], [9, 9, 9, 9])
    ]
    with pipeline.compile(gears=(1, 8)).session() as session:
        answers = session.run_batch(samples)
        solo = [session.run_batch([sample])[0] for sample in samples]
    for index, (answer, alone) in enumerate(zip(answers, solo)):
        if index in (1, 3):
            assert isinstance(answer, DeviceError)
            assert "stage 'gather', gear 1, stream 0 of cpu" in str(answer)
        else:
            assert tiny.same(answer, alone)


def test_what_a_sample_wrote_in_place_outlives_the_failure_of_its_neighbour(tmp_path: Path) -> None:
    pipeline = Pipeline("ids")
    ids = ops.Cast("int64")(pipeline.input("numbers", TensorSpec("int32", (4,))))  # an output too: on the host
    pipeline.output(ids=ids, y=Model(tiny.gather_model(tmp_path))(ids))
    rows = ([1, 2, 3, 4], [1, 2, 3, 99], [5, 6, 7, 8])
    with pipeline.compile(gears=(1, 4)).session() as session:
        answers = session.run_batch([{"numbers": np.array(row, np.int32)} for row in rows])
    assert isinstance(answers[1], DeviceError)
    assert [answers[i]["ids"].tolist() for i in (0, 2)] == [rows[0], rows[2]]  # type: ignore[index]


def test_two_models_and_shared_parents_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    run = tiny.Scale.run

    def count(self: Any, x: Array, out: Any = None) -> Array:
        runs.append(1)
        return run(self, x, out)

    monkeypatch.setattr(tiny.Scale, "run", count)
    pipeline = Pipeline("two")
    shared = tiny.Scale(0.5)(pipeline.input("x", tiny.VECTOR))
    a = Model(tiny.vector_model(tmp_path, "a", seed=1))(shared)
    b = Model(tiny.vector_model(tmp_path, "b", seed=2))(shared)
    pipeline.output(a=a, b=b, likeness=ops.Similarity()(a, b))
    plan = pipeline.compile(gears={"a": (1, 2), "b": (1, 4)})
    assert [stage.name for stage in plan.stages] == ["host0", "a", "b", "host2"]
    samples = tiny.vectors(7)
    with plan.session() as session:
        solo = [session.run(**sample) for sample in samples]
        runs.clear()
        answers = session.run_batch(samples)
    assert len(runs) == 7
    assert all(tiny.same(x, y) for x, y in zip(answers, solo))
    for answer in solo:
        np.testing.assert_allclose(answer["likeness"], [answer["a"] @ answer["b"]], rtol=1e-5, atol=1e-6)


def test_models_of_different_gears_meet_on_the_host(tmp_path: Path) -> None:
    pipeline = Pipeline("chain")
    first = Model(tiny.vector_model(tmp_path, "first"))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tiny.vector_model(tmp_path, "second", size=4))(first))
    samples = tiny.vectors(5)
    with pipeline.compile(gears=(1, 4)).session() as session:
        joined = session.run_batch(samples)
        assert len(session.plan.built) == 1
    with pipeline.compile(gears={"first": (1, 4), "second": (1, 2)}).session() as session:
        apart = session.run_batch(samples)
        assert [stage.level for stage in session.plan.stages] == [1, 3]
    assert all(tiny.same(a, b) for a, b in zip(joined, apart))


def test_a_pipeline_without_a_model_runs_on_the_host_alone() -> None:
    pipeline = Pipeline("host")
    pipeline.output(y=tiny.Scale(3.0)(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        np.testing.assert_array_equal(session.run(x=np.ones(8, np.float32))["y"], np.full(8, 3, np.float32))
        assert session.run_batch([]) == []


def test_two_outputs_of_one_value_are_two_arrays(tmp_path: Path) -> None:
    pipeline = Pipeline("twice")
    scaled = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(a=scaled, b=scaled)
    with pipeline.compile().session() as session:
        answer = session.run(x=np.ones(8, np.float32))
    answer["a"][:] = 0
    assert answer["b"].tolist() == [2] * 8
