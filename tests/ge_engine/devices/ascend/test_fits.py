from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tiny
from acl_sim import World

from ge_engine import Model
from ge_engine.devices.ascend import library
from ops import DeviceError, TensorSpec
from pipeline import Pipeline, Plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Of 64 KB of weights, and as much of inputs in its largest gear."""
    pipeline = Pipeline("wide")
    model = Model(tiny.vector_model(tmp_path_factory.mktemp("models"), size=4096))
    pipeline.output(y=model(pipeline.input("x", TensorSpec("float32", (4096,)))))
    return pipeline.compile(gears=(1, 4), streams=3)


def used(world: World, plan: Plan) -> int:
    """What an open session has taken of the card."""
    with plan.session("npu:0"):
        return world.memory.used[0]


def test_what_does_not_fit_is_told_before_anything_is_loaded(card: Any, plan: Plan) -> None:
    world: World = card(hbm=500_000)
    with pytest.raises(DeviceError) as error:
        plan.session("npu:0")
    assert not world.counts["mdl.load_from_file"]
    assert not world.counts["rt.malloc"]
    assert error.value.message == (
        "stage 'dense' needs 1.0 MB on npu:0, where 0.5 MB of 0.5 MB are free: 0.1 MB of weights and 0.1 MB to work in "
        "for each of 3 streams, and 0.1 MB of buffers for each of 6 batches in flight"
    )


def test_the_remedy_is_as_many_streams_as_there_is_room_for(card: Any, plan: Plan) -> None:
    world: World = card()
    most = used(world, plan)
    for part, remedy in ((0.9, "use 2 streams, or smaller gears"), (0.4, "use 1 streams"), (0.1, "use smaller gears")):
        library.finalize()
        card(hbm=int(most * part))
        with pytest.raises(DeviceError, match="needs") as error:
            plan.session("npu:0")
        assert error.value.fix.startswith(remedy)


@pytest.mark.parametrize("call", ["mdl.query_size", "rt.get_mem_info"])
def test_what_the_card_does_not_say_is_left_to_the_loading(card: Any, plan: Plan, call: str) -> None:
    world: World = card()
    world.fail(call, 500000, times=0)
    with plan.session("npu:0") as session:
        session.run(x=np.zeros(4096, np.float32))
