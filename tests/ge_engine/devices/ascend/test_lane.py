from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tiny
from acl_sim import World

from ge_engine.devices import AscendDevice
from ge_engine.engine import Engine
from ops import DeviceError
from pipeline import Plan

BROKEN = 507015


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 2, 4))


class Bench:
    """A stage with the two lanes of one queue, and what the CPU answers."""

    def __init__(self, plan: Plan) -> None:
        self.device = AscendDevice()
        self.lanes = [self.device.stream(0), self.device.stream(1)]
        self.engine = Engine(plan.built["dense"], self.device, slots=2, largest=4)
        rng = np.random.default_rng(5)
        for slot in range(2):
            self.engine.inputs(slot).arrays["scale"][:] = rng.normal(size=(4, 8))
        self.values = [self.engine.inputs(slot).arrays["scale"].copy() for slot in range(2)]
        with plan.session() as session, session.lease() as context:
            self.wanted = []
            for values in self.values:
                context.inputs["scale"][:4] = values
                context.run(4)
                self.wanted.append(context.outputs["y"][:4].copy())

    def enqueue(self, index: int) -> None:
        self.engine.outputs(index).block.fill(0)
        self.engine.enqueue(index, 4, self.lanes[index])

    def is_right(self, index: int) -> bool:
        return bool((self.engine.outputs(index).arrays["y"] == self.wanted[index]).all())

    def run(self, index: int) -> bool:
        self.enqueue(index)
        self.lanes[index].synchronize()
        return self.is_right(index)


@pytest.fixture
def bench(world: World, plan: Plan) -> Iterator[Bench]:
    bench = Bench(plan)
    yield bench
    bench.engine.close()
    bench.device.close()


def test_two_batches_are_in_flight_on_one_model(world: World, bench: Bench) -> None:
    bench.enqueue(0)
    bench.enqueue(1)
    bench.lanes[0].synchronize()
    assert bench.is_right(0)
    bench.lanes[1].synchronize()
    assert bench.is_right(1)
    assert world.counts["mdl.load_from_file"] == 1


def failing_runs(world: World, *numbers: int) -> None:
    """Let the runs with these numbers fail on the card."""
    for number in numbers:
        world.fail("device.run", BROKEN, at=number)


def test_what_is_behind_a_failure_runs_again(world: World, bench: Bench) -> None:
    failing_runs(world, 1, 3)  # the first one's, twice
    bench.enqueue(0)
    bench.enqueue(1)
    with pytest.raises(DeviceError, match=str(BROKEN)):
        bench.lanes[0].synchronize()
    bench.lanes[1].synchronize()
    assert bench.is_right(1)
    assert world.counts["mdl.execute_async"] == 4
    assert bench.run(0)


def test_the_failure_of_the_second_is_told_to_the_second_alone(world: World, bench: Bench) -> None:
    failing_runs(world, 2, 4)
    bench.enqueue(0)
    bench.enqueue(1)
    bench.lanes[0].synchronize()
    assert bench.is_right(0)
    with pytest.raises(DeviceError, match=str(BROKEN)):
        bench.lanes[1].synchronize()
    assert bench.run(0)
    assert bench.run(1)


def test_a_failure_in_company_that_does_not_come_again_is_told_to_nobody(world: World, bench: Bench) -> None:
    failing_runs(world, 2)
    bench.enqueue(0)
    bench.enqueue(1)
    for index, lane in enumerate(bench.lanes):
        lane.synchronize()
        assert bench.is_right(index)


def test_whichever_runs_fail_an_answer_is_right_or_an_error(world: World, bench: Bench) -> None:
    """The next batch of a lane is put behind one that is to run again: its failure is not to be lost there."""
    for pattern in product((False, True), repeat=6):
        world.faults.set.clear()
        failing_runs(world, *(number for number, fails in enumerate(pattern, 1) if fails))
        bench.enqueue(0)
        bench.enqueue(1)
        for index in (0, 1, 0, 1):
            with suppress(DeviceError):
                bench.lanes[index].synchronize()
                assert bench.is_right(index), pattern
            bench.enqueue(index)
        for lane in bench.lanes:
            with suppress(DeviceError):
                lane.synchronize()


def test_an_interrupt_on_the_way_into_the_queue_keeps_nobody_waiting(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = bench.lanes[0].queue
    enter = queue.enter

    def interrupted(lane: Hashable) -> None:
        enter(lane)
        raise KeyboardInterrupt

    monkeypatch.setattr(queue, "enter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.enqueue(0)
    monkeypatch.setattr(queue, "enter", enter)
    assert bench.run(1)


def test_who_comes_first_to_the_queue_hears_first_of_its_failure(world: World, bench: Bench) -> None:
    failing_runs(world, 1, 3)
    bench.enqueue(0)
    bench.enqueue(1)
    began, done = threading.Event(), threading.Event()

    def second() -> None:
        began.set()
        bench.lanes[1].synchronize()
        done.set()

    thread = threading.Thread(target=second)
    thread.start()
    began.wait()
    assert not done.wait(0.05)
    with pytest.raises(DeviceError, match=str(BROKEN)):
        bench.lanes[0].synchronize()
    thread.join()
    assert done.is_set()
    assert bench.is_right(1)


def test_a_stream_that_does_not_come_to_rest_is_replaced(world: World, bench: Bench) -> None:
    made = world.counts["rt.create_stream"]
    world.fail("device.run", BROKEN, sticky=True)
    bench.enqueue(0)
    bench.enqueue(1)
    for index, lane in enumerate(bench.lanes):
        lane.synchronize()
        assert bench.is_right(index)
    assert world.counts["rt.create_stream"] == made + 1
    assert world.counts["rt.destroy_stream_force"] == 1


def test_a_stream_that_cannot_be_replaced_at_once_is_later(world: World, bench: Bench) -> None:
    world.fail("device.run", BROKEN, sticky=True)
    with pytest.raises(DeviceError, match="synchronize_stream"):
        bench.run(0)
    world.fail("rt.create_stream", 207008)
    with pytest.raises(DeviceError, match="create_stream failed with 207008"):
        bench.run(0)
    assert bench.run(0)


def test_a_transfer_that_fails_takes_its_own_batch_alone(world: World, bench: Bench) -> None:
    world.fail("device.copy", BROKEN, sticky=True)
    bench.enqueue(0)
    bench.enqueue(1)
    with pytest.raises(DeviceError, match=str(BROKEN)):
        bench.lanes[0].synchronize()
    bench.lanes[1].synchronize()
    assert bench.is_right(1)
    assert bench.run(0)


@pytest.mark.parametrize(
    "call",
    [
        "rt.memcpy_async",
        "rt.create_event",
        "rt.record_event",
        "rt.stream_wait_event",
        "mdl.set_dynamic_batch_size",
        "mdl.execute_async",
        "mdl.get_cur_output_dims",
    ],
)
def test_a_lane_whose_enqueue_failed_is_empty_at_once(world: World, bench: Bench, call: str) -> None:
    world.fail(call, BROKEN)
    with pytest.raises(DeviceError, match=call):
        bench.enqueue(0)
    assert not list(world.queues.pending)
    bench.lanes[0].synchronize()  # there is nothing to wait for
    assert bench.run(1)
    assert bench.run(0)


def test_another_batch_in_flight_survives_an_enqueue_that_fails(world: World, bench: Bench) -> None:
    bench.enqueue(0)
    world.fail("mdl.execute_async", BROKEN)
    errors: list[DeviceError] = []

    def other() -> None:
        try:
            bench.enqueue(1)
        except DeviceError as error:
            errors.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    bench.lanes[0].synchronize()
    thread.join()
    assert len(errors) == 1
    assert bench.is_right(0)
    assert bench.run(1)


def test_a_gear_that_there_is_none_of_is_refused(world: World, bench: Bench) -> None:
    program = bench.engine._program
    gear = bench.engine.gear(1).with_batch(3)
    with pytest.raises(DeviceError, match="3 is not a gear") as error:
        program.enqueue(0, gear, bench.lanes[0])
    assert error.value.fix == "run one of 1, 2, 4"


def test_more_lanes_than_were_opened_are_refused(world: World, bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="opened with 2 lanes, 2 a stream") as error:
        bench.device.stream(2)
    assert "AscendDevice(streams=...)" in error.value.fix
