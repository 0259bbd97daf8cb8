from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

import ops
from ge_engine import Model
from ge_engine.devices import CpuDevice, Device, NullDevice
from ge_engine.pool import Pool
from ops import TensorSpec
from pipeline import Batching, Pipeline, Plan
from pipeline.forming import NEVER, Forming, Ticket
from pipeline.group import Group
from pipeline.item import Item
from pipeline.level import Level
from pipeline.runner import Runner

SLOTS, STREAMS = 3, 2


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 2, 4))


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    pipeline = Pipeline("sized")
    pixels = pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    image, _ = ops.Letterbox(sizes=((4, 4), (4, 8), (8, 4)))(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path_factory.mktemp("models")))(x))
    return pipeline.compile(gears=(1, 2, 4))


def level_of(plan: Plan, device: Device) -> Level:
    streams = Pool(device.stream(index) for index in range(STREAMS))
    return Runner(plan, device, SLOTS, streams).levels[0]


def forming(plan: Plan, *, on_host: bool = False, streams: int = STREAMS, ahead: int = 0, **batching: Any) -> Forming:
    level = level_of(plan, NullDevice(pads=False))
    return Forming(level, range(SLOTS), streams, Batching(**batching), on_host, ahead)


def add(batches: Forming, now: float = 0.0) -> Ticket:
    ticket = batches.admit(now)
    assert ticket is not None
    return ticket


def fill(batches: Forming, count: int = 1, now: float = 0.0) -> None:
    for _ in range(count):
        batches.settle(add(batches, now), Item({}), now)


def run(batches: Forming, waiting: bool = False, now: float = 0.0) -> int:
    """How many samples the batch has that is due; 0 for none."""
    group = batches.due(waiting, now)
    return len(group.take()) if group else 0


def test_on_a_device_of_its_own_a_batch_runs_while_a_stream_is_idle_else_it_grows(plan: Plan) -> None:
    batches = forming(plan, streams=1)
    fill(batches)
    assert run(batches, waiting=True) == 1
    fill(batches, 3)
    assert run(batches) == 0
    batches.left_device()
    assert run(batches) == 3


def test_what_would_only_be_copied_ahead_waits_to_be_full(plan: Plan) -> None:
    batches = forming(plan, streams=2, ahead=1)
    fill(batches)
    assert run(batches) == 1
    fill(batches, 3)
    assert run(batches) == 0
    fill(batches)
    assert run(batches) == 4
    fill(batches, 2)
    batches.left_device()
    assert run(batches) == 0
    batches.left_device()
    assert run(batches) == 2


def test_on_the_hosts_cores_a_batch_waits_for_what_can_still_join(plan: Plan) -> None:
    batches = forming(plan, on_host=True)
    fill(batches, 3)
    assert run(batches, waiting=True) == 0
    fill(batches)
    assert run(batches, waiting=True) == 4
    fill(batches)
    assert run(batches, waiting=False) == 1


def test_on_the_hosts_cores_who_fill_batches_do_not_wait_for_each_other(plan: Plan) -> None:
    batches = forming(plan, on_host=True)
    first, second = add(batches), add(batches)
    assert first.seat is not None
    assert second.seat is not None
    assert first.seat[0] is not second.seat[0]
    batches.settle(first, Item({}), 0.0)
    assert run(batches) == 1


def test_on_a_device_of_its_own_samples_that_are_prepared_at_once_are_in_one_batch(plan: Plan) -> None:
    batches = forming(plan)
    first, second = add(batches), add(batches)
    batches.settle(first, Item({}), 0.0)
    assert run(batches) == 0  # the other is still being written
    assert add(batches).seat[0] is not first.seat[0]  # type: ignore[index]  # nobody else delays it
    batches.settle(second, Item({}), 0.0)
    assert run(batches) == 2


def test_with_a_delay_a_batch_waits_until_its_oldest_has_waited(plan: Plan) -> None:
    batches = forming(plan, max_delay_us=1000)
    fill(batches, now=5.0)
    fill(batches, now=5.0009)
    assert run(batches, now=5.0009) == 0
    assert batches.next_time() == pytest.approx(5.001)
    assert run(batches, now=5.0011) == 2
    assert batches.next_time() == NEVER


def test_a_full_batch_does_not_wait_for_the_delay(plan: Plan) -> None:
    batches = forming(plan, max_delay_us=10**6)
    fill(batches, 4)
    assert run(batches) == 4


def test_a_preferred_size_does_not_wait_and_the_largest_of_them_is_the_most(plan: Plan) -> None:
    batches = forming(plan, max_delay_us=10**6, preferred=(2, 3, 100), streams=1)
    fill(batches, 1)
    assert run(batches) == 0
    fill(batches, 1)
    assert run(batches) == 2
    fill(batches, 5)
    batches.left_device()
    assert run(batches) == 3
    batches.left_device()
    assert run(batches) == 2


def test_closing_ends_the_waiting(plan: Plan) -> None:
    batches = forming(plan, max_delay_us=10**6)
    fill(batches)
    batches.closing = True
    assert run(batches, waiting=True) == 0
    assert run(batches, waiting=False) == 1


def test_without_a_free_set_of_buffers_a_sample_waits(plan: Plan) -> None:
    batches = forming(plan, max_delay_us=10**6)
    fill(batches, SLOTS * 4)
    assert batches.admit(0.0) is None
    group = batches.due(True, 0.0)
    assert group is not None
    group.take()
    batches.end(group)
    assert batches.admit(0.0) is not None


def test_a_batch_whose_samples_all_failed_gives_its_buffers_back(plan: Plan) -> None:
    batches = forming(plan)
    for _ in range(2 * SLOTS):
        batches.settle(add(batches), None, 0.0)
    assert not batches.groups


def test_the_most_of_a_batch_is_what_costs_least_a_sample(plan: Plan) -> None:
    level = level_of(plan, NullDevice())
    level.costs_us = {1: 100.0, 2: 150.0, 4: 900.0}
    assert Forming(level, range(SLOTS), 1, Batching(), False).rows == 2


# ---- any order of events


class Sample(Item):
    """A sample with a number, which is what its row holds."""

    __slots__ = ("number", "size")

    def __init__(self, number: int, size: int) -> None:
        super().__init__({})
        self.number = number
        self.size = size


class World:
    """What a scheduler does, one event at a time, in an order that is drawn."""

    def __init__(
        self, level: Level, batching: Batching, on_host: bool, ahead: int, samples: list[tuple[int, bool]]
    ) -> None:
        self.level = level
        self.batches = Forming(level, range(SLOTS), STREAMS, batching, on_host, ahead)
        self.waiting = [(Sample(number + 1, size), fails) for number, (size, fails) in enumerate(samples)]
        self.writing: list[tuple[Sample, bool, Ticket]] = []
        self.running: list[Group] = []
        self.leaving: list[Group] = []
        self.answered: list[int] = []
        self.now = 0.0

    def events(self) -> Iterator[Any]:
        yield self.start
        yield self.run
        yield from (lambda one=one: self.write(one) for one in self.writing)
        yield from (lambda group=group: self.leave(group) for group in self.running)
        yield from (lambda group=group: self.end(group) for group in self.leaving)
        if self.batches.next_time() < NEVER:
            yield self.wait

    def start(self) -> bool:
        ticket = self.batches.admit(self.now) if self.waiting else None
        if ticket is None:
            return False
        self.writing.append((*self.waiting.pop(0), ticket))
        return True

    def write(self, one: tuple[Sample, bool, Ticket]) -> bool:
        sample, fails, ticket = one
        self.writing.remove(one)
        if not (fails and ticket.seat is None and sample.number % 2):  # some fail before they have a row
            group, row = self.batches.find(ticket, (sample.size,) if self.level.graded else (0,), self.now)
            for array in group.row(row).values():
                array[...] = sample.number
        self.batches.settle(ticket, None if fails else sample, self.now)
        if fails:
            self.answered.append(sample.number)
        return True

    def run(self) -> bool:
        group = self.batches.due(bool(self.waiting), self.now)
        if group is None:
            return False
        samples = group.take()
        assert 1 <= len(samples) <= self.batches.rows
        slots = [other.slot for other in (*self.running, *self.leaving, *self.batches.groups)]
        assert group.slot not in slots
        assert len(set(slots)) == len(slots)
        for row, sample in enumerate(samples):
            assert isinstance(sample, Sample)
            assert not self.level.graded or group.sizes == (sample.size,)
            assert all((array == sample.number).all() for array in group.row(row).values())
            self.answered.append(sample.number)
        for row in range(len(samples), self.level.rows):  # padding: zeros, or a valid earlier row
            for array in group.row(row).values():
                assert len(np.unique(array)) == 1
        self.running.append(group)
        assert len(self.running) <= STREAMS
        return True

    def leave(self, group: Group) -> bool:
        self.running.remove(group)
        self.leaving.append(group)
        self.batches.left_device()
        return True

    def end(self, group: Group) -> bool:
        self.leaving.remove(group)
        self.batches.end(group)
        return True

    def wait(self) -> bool:
        self.now = max(self.now, self.batches.next_time()) + 1e-6
        return self.run()


SAMPLES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from((False, False, True))), min_size=1, max_size=24)


@given(
    samples=SAMPLES,
    choices=st.lists(st.integers(0, 99), max_size=100),
    on_host=st.booleans(),
    ahead=st.integers(0, STREAMS - 1),
    delay_us=st.sampled_from((0, 1000)),
    preferred=st.sampled_from(((), (2,), (2, 3))),
)
@pytest.mark.parametrize("graded", [False, True])
def test_in_any_order_of_events_every_sample_runs_once_in_its_own_row_and_nothing_gets_stuck(
    plan: Plan,
    sized: Plan,
    graded: bool,
    samples: list[tuple[int, bool]],
    choices: list[int],
    on_host: bool,
    ahead: int,
    delay_us: int,
    preferred: tuple[int, ...],
) -> None:
    level = level_of(sized if graded else plan, CpuDevice(threads=1))
    batching = Batching(max_delay_us=delay_us, preferred=preferred)
    world = World(level, batching, on_host, ahead, samples)
    for choice in choices:
        events = list(world.events())
        events[choice % len(events)]()
    world.batches.closing = True
    while any(event() for event in list(world.events())):  # whatever is possible, until nothing is
        pass
    assert sorted(world.answered) == list(range(1, len(samples) + 1))
    assert not world.batches.groups
    assert world.batches.admit(world.now) is not None
