from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pytest
import tiny
from virtual_time import VirtualDevice, VirtualTime

from ge_engine import Model
from ge_engine.devices import NullDevice
from ge_engine.devices.null import Clock, NullStream
from ops import DeviceError
from pipeline import Deployment, Pipeline, Plan
from pipeline.tune.space import Point
from pipeline.tune.steps import Steps


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 2, 4))


def steps(plan: Plan, device: Callable[[Deployment], NullDevice], streams: int = 2) -> Steps:
    return Steps(plan, streams, 0.02, device)


def test_it_measures_what_the_device_takes(plan: Plan) -> None:
    time = VirtualTime()
    with Steps(plan, 2, 0.02, lambda settings: VirtualDevice(time, lambda rows: 1000.0 * rows), time) as measure:
        one, two = measure(Point(4, 1, None)), measure(Point(4, 2, None))
    assert (one.per_sec, one.p99_us) == (pytest.approx(1000), pytest.approx(4000))
    assert (two.per_sec, two.p99_us) == (pytest.approx(2000), pytest.approx(4000))


def test_steps_that_take_long_are_measured_less_often(plan: Plan) -> None:
    counts = []
    for seconds in (1.0, 0.02):
        time, ran = VirtualTime(), []

        def half_a_second(rows: int, ran: list[int] = ran) -> float:
            ran.append(rows)
            return 500_000.0

        def device(settings: Deployment, time: VirtualTime = time, us: Any = half_a_second) -> VirtualDevice:
            return VirtualDevice(time, us)

        with Steps(plan, 1, seconds, device, time) as measure:
            measure(Point(4, 1, None))
        counts.append(len(ran))
    assert counts == [6, 2]  # one to begin with and two, twice; one to begin with and one, where a window is shorter


def test_what_follows_on_the_host_is_no_step(tmp_path: Path) -> None:
    pipeline = Pipeline("followed")
    y = Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(above=tiny.Above(limit=4, least=0.0)(y))
    followed = pipeline.compile(gears=(1, 2))
    assert followed.stages[-1].placement == "host"
    with steps(followed, lambda settings: NullDevice(pads=False, time_us=lambda rows: 1000.0)) as measure:
        assert measure(Point(2, 1, None)).p99_us >= 1000


def test_each_share_is_opened_once_with_its_settings_for_the_most_streams(plan: Plan) -> None:
    opened: list[Deployment] = []

    def device(settings: Deployment) -> NullDevice:
        opened.append(settings)
        return NullDevice()

    with steps(plan, device, streams=3) as measure:
        for streams, share in ((1, 2), (3, 2), (2, "12|10")):
            measure(Point(1, streams, share))
    assert [(own.streams, own.threads, own.cores) for own in opened] == [(3, 2, None), (3, None, "12|10")]


def test_devices_are_closed_also_after_an_error(plan: Plan) -> None:
    closed = []

    class Closing(NullDevice):
        def close(self) -> None:
            closed.append(self)

    def fails(inputs: object, outputs: object) -> None:
        raise DeviceError("the card is gone")

    with pytest.raises(DeviceError, match="the card is gone"), steps(plan, lambda _: Closing(compute=fails)) as measure:
        measure(Point(1, 2, None))
    assert len(closed) == 1


def test_an_error_on_one_stream_ends_the_others(plan: Plan) -> None:
    count = 0

    def fails_later(inputs: object, outputs: object) -> None:
        nonlocal count
        count += 1
        if count > 5:
            raise DeviceError("the card is gone")

    begin = time.perf_counter()
    with (
        pytest.raises(DeviceError, match="the card is gone"),
        Steps(plan, 2, 0.5, lambda _: NullDevice(compute=fails_later)) as measure,
    ):
        measure(Point(1, 2, None))
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([(), (), ()], {0, 1}),  # as on a CPU
        ([(7,), (7,), (8,), (8,), (9,), (9,)], {0, 1, 2, 3}),  # two lanes a stream
        # Two cards, three streams each, two lanes a stream
        ([(card, queue) for _ in "ab" for queue in range(3) for card in "xy"], {0, 1, 2, 3, 6, 7, 8, 9}),
    ],
)
def test_every_lane_of_so_many_streams_of_each_card_steps_and_no_other(
    plan: Plan, shares: list[tuple[Hashable, ...]], expected: set[int]
) -> None:
    used: set[int] = set()

    class Noted(NullStream):
        def __init__(self, index: int) -> None:
            super().__init__(index, Clock())
            self.shares = shares[index]  # type: ignore[assignment]

        def synchronize(self) -> None:
            used.add(self.index)
            super().synchronize()

    class Several(NullDevice):
        cards = len(shares) // 3

        def stream(self, index: int) -> NullStream:
            return Noted(index)

    with steps(plan, lambda _: Several(), streams=3) as measure:
        measure(Point(1, 2, None))
    assert used == expected


def test_a_stage_of_sizes_is_measured_at_its_largest(tmp_path: Path) -> None:
    import ops
    from ge_engine import Model
    from ops import TensorSpec
    from pipeline import Pipeline

    pipeline = Pipeline("sized")
    pixels = pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    image, _ = ops.Letterbox(sizes=((4, 4), (4, 8)))(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(x))
    shapes: set[tuple[int, ...]] = set()

    def look(inputs, outputs) -> None:  # type: ignore[no-untyped-def]
        shapes.update(array.shape for array in inputs.values())

    with steps(pipeline.compile(), lambda _: NullDevice(compute=look)) as measure:
        measure(Point(1, 1, None))
    assert all(4 in shape and 8 in shape for shape in shapes)
