from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tiny

import ops
from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import WrongUse
from pipeline import Pipeline, Plan
from pipeline.tune.stages import Stages
from pipeline.tune.steps import Steps
from pipeline.tune.tuned import by_model


def two(folder: Path, gears: tuple[int, ...] = (1, 2, 4)) -> Plan:
    """Two models side by side."""
    pipeline = Pipeline("two")
    x = pipeline.input("x", tiny.VECTOR)
    one, other = tiny.vector_model(folder, "one"), tiny.vector_model(folder, "other", seed=1)
    pipeline.output(y=Model(one)(x), z=Model(other)(x))
    return pipeline.compile(gears=gears)


@dataclass(frozen=True)
class Doubled(ops.Op[ops.Edge]):
    """float32[4] to float32[8], on the host."""

    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:
        return tiny.VECTOR

    def run(self, x: ops.Array) -> ops.Array:
        return np.concatenate([x, x])


def test_each_of_two_models_may_have_gears_of_its_own_on_a_device_that_pads(tmp_path: Path) -> None:
    plan = two(tmp_path)
    stages = Stages.of(plan, pads=True)
    assert stages == Stages((1, 2, 4), {"one": ("one",), "other": ("other",)}, ("one", "other"))
    assert Stages.of(plan, pads=False).own == ()


def test_what_each_stage_takes_of_a_step_is_measured(tmp_path: Path) -> None:
    plan = two(tmp_path)
    with Steps(plan, 1, 0.01, lambda settings: NullDevice(time_us=lambda rows: 20_000.0 * rows)) as steps:
        found = Stages.of(plan, pads=True).measured(steps, None)
    assert found.keys() == {"one", "other"}
    assert all(times.keys() == {1, 2, 4} for times in found.values())
    assert all(20_000 * gear <= us < 40_000 * gear for times in found.values() for gear, us in times.items())


def test_a_model_of_one_sample_at_a_time_in_front_leaves_nothing_to_merge(tmp_path: Path) -> None:
    pipeline = Pipeline("mixing")
    pipeline.output(y=Model(tiny.mixing_model(tmp_path))(pipeline.input("x", tiny.VECTOR)))
    assert Stages.of(pipeline.compile(gears=(1, 2)), pads=True).gears == (1,)


@pytest.mark.parametrize("pads", [True, False])
def test_behind_one_that_merges_it_alone_has_gear_1(tmp_path: Path, pads: bool) -> None:
    pipeline = Pipeline("behind")
    y = Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(z=Model(tiny.mixing_model(tmp_path))(Doubled()(y)))
    stages = Stages.of(pipeline.compile(gears=(1, 2, 4)), pads)
    assert (stages.gears, stages.own) == ((1, 2, 4), ("dense",))
    plan = pipeline.compile(gears=by_model({"dense": (2, 4)}, stages.models))
    with plan.session(NullDevice(pads=pads)) as session:
        assert len(session.run_batch(tiny.vectors(4))) == 4


def test_sizes_leave_nothing_to_merge_where_batches_are_padded(tmp_path: Path) -> None:
    plan = tiny.sized_pipeline(tmp_path).compile(gears=(1, 2))
    assert Stages.of(plan, pads=True).gears == (1,)
    assert Stages.of(plan, pads=False).gears == (1, 2)


def test_a_plan_without_a_device_stage_is_refused() -> None:
    pipeline = Pipeline("bare")
    pipeline.output(y=tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR)))
    with pytest.raises(WrongUse, match="pipeline 'bare' has no device stage"):
        Stages.of(pipeline.compile(), pads=True)
