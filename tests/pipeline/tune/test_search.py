from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pipeline.tune.search import MOST, Measured, Search, Surface
from pipeline.tune.space import Point, Space

NPU = Space((1, 2, 4, 8, 16), tuple(range(1, 9)), (None, "24|20", "12|10"))
CPU = Space((1, 2, 3, 4, 5, 6, 8, 10, 12, 16), (1, 2, 3, 4), (1, 2))
Round = Callable[[Point], float]  # the time of a round, each stream with one step, in us


def published(point: Point) -> float:
    """A fixed part, and one for each stream and row that a core lock makes shorter."""
    slope = {None: 1170.0, "24|20": 900.0, "12|10": 720.0}[str(point.share) if point.share else None]
    return 3400 + slope * point.streams * (0.4 + 0.6 * point.gear)


def out_of_memory_beyond(point: Point) -> float:
    """Rows are cheap up to 8, and then they do not fit into the cache."""
    return (1000 + 100 * point.gear) * (1 if point.gear <= 8 else 2.5) * (1 + 0.04 * point.streams**2)


def whole_tiles(point: Point) -> float:
    """A step takes whole tiles of 4 rows, and streams add nothing beyond 5."""
    return (800 + 300 * math.ceil(point.gear / 4)) * max(1.0, point.streams / 5)


def shared_cores(point: Point) -> float:
    """Two cores: threads beyond them gain nothing and cost something."""
    threads = point.streams * int(point.share or 1)
    alone = 400 + 900 * point.gear / int(point.share or 1) ** 0.9
    return alone * max(1.0, threads / 2) * (1 + 0.1 * max(0, threads - 2))


def measure(space: Space, round_us: Round) -> Callable[[Point], Measured]:
    def one(point: Point) -> Measured:
        return Measured(point.gear * point.streams * 1e6 / round_us(point), round_us(point))

    return one


CASES = [
    (NPU, published),
    (NPU, out_of_memory_beyond),
    (NPU, whole_tiles),
    (CPU, shared_cores),
    (CPU, whole_tiles),
]


@pytest.mark.parametrize("limit_us", [math.inf, 6000.0])
@pytest.mark.parametrize(("space", "round_us"), CASES)
def test_a_fifth_of_the_grid_shows_what_is_nearly_its_best(space: Space, round_us: Round, limit_us: float) -> None:
    search = Search(space, measure(space, round_us))
    search.run(limit_us)
    assert len(search.tried) <= MOST * len(space.points())
    allowed = [seen for seen in map(measure(space, round_us), space.points()) if seen.p99_us <= limit_us]
    found = max(seen.per_sec for seen in search.tried.values() if seen.p99_us <= limit_us)
    assert found >= 0.95 * max(seen.per_sec for seen in allowed)


def test_no_point_is_measured_twice_and_the_budget_holds() -> None:
    calls: list[Point] = []
    search = Search(CPU, lambda point: calls.append(point) or measure(CPU, shared_cores)(point))  # type: ignore[func-returns-value]
    search.run(spare=4)
    assert len(calls) <= search.budget - 4
    assert search.try_(calls[0])
    for point in CPU.points():
        search.try_(point)
    assert len(calls) == len(set(calls)) == search.budget == 16


def test_the_best_are_measured_once_more_and_the_better_value_is_kept() -> None:
    calls: list[Point] = []

    def slower_at_first(point: Point) -> Measured:
        calls.append(point)
        slow = 2 if calls.count(point) == 1 else 1
        return Measured(point.gear * point.streams / slow, 10.0 * slow)

    search = Search(NPU, slower_at_first)
    search.run()
    tried = dict(search.tried)
    search.again()
    twice = {point for point in tried if calls.count(point) == 2}
    assert len(twice) == max(3, len(tried) // 4)
    assert min(tried[point].per_sec for point in twice) >= max(tried[p].per_sec for p in tried if p not in twice)
    assert all(search.tried[point] == Measured(2 * tried[point].per_sec, 10.0) for point in twice)
    assert search.unsteadiness == 2


def test_what_is_no_candidate_is_not_measured() -> None:
    search = Search(CPU, measure(CPU, shared_cores))
    assert not search.try_(Point(7, 1, 1))
    assert not search.tried


def test_it_ends_when_nothing_better_can_be_hoped_for() -> None:
    search = Search(NPU, lambda point: Measured(100.0, 1.0))
    search.run()
    assert search.budget / 2 <= len(search.tried) < search.budget


def test_where_nothing_is_within_the_limit_it_goes_for_the_shortest_steps() -> None:
    search = Search(NPU, measure(NPU, published))
    search.run(limit_us=100)
    assert min(seen.p99_us for seen in search.tried.values()) == min(map(published, NPU.points()))


def test_of_a_small_grid_more_than_a_fifth_is_tried() -> None:
    space = Space((1,), tuple(range(1, 9)))
    search = Search(space, lambda point: Measured(100.0 * min(point.streams, 2), 10.0 * point.streams), enough=200.0)
    search.run()
    assert len(search.tried) <= 4
    assert {Point(1, 1, None), Point(1, 8, None)} < search.tried.keys()


def test_what_is_enough_ends_the_search_for_more_and_begins_that_for_shorter_steps() -> None:
    free, bounded = Search(NPU, measure(NPU, published)), Search(NPU, measure(NPU, published), enough=240.0)
    free.run()
    bounded.run()
    enough = {point: seen for point, seen in bounded.tried.items() if seen.per_sec >= 240}
    possible = [measure(NPU, published)(point) for point in NPU.points()]
    shortest = min(seen.p99_us for seen in possible if seen.per_sec >= 240)
    assert min(seen.p99_us for seen in enough.values()) <= 1.1 * shortest
    assert len(bounded.tried) <= len(free.tried)


def test_a_grid_of_one_is_tried() -> None:
    search = Search(Space((1,), (1,)), lambda point: Measured(5.0, 1.0))
    search.run()
    assert list(search.tried) == [Point(1, 1, None)]


SMALL = Space((1, 2, 4, 8), (1, 2, 4), (1, 2))


def rate(point: Point) -> float:
    return point.gear * point.streams * 1e6 / (500 + 200 * point.gear * point.streams)


def test_what_was_measured_is_what_it_says_and_what_lies_between_is_near() -> None:
    seen = {point: rate(point) for point in SMALL.points() if point.gear != 4}
    surface = Surface(SMALL, seen)
    mean, deviation = surface.log_per_sec(list(seen))
    np.testing.assert_allclose(np.exp(mean), list(seen.values()), rtol=0.02)
    unseen = [point for point in SMALL.points() if point.gear == 4]
    between, unsure = surface.log_per_sec(unseen)
    np.testing.assert_allclose(np.exp(between), [rate(point) for point in unseen], rtol=0.05)
    assert unsure.min() > deviation.max()


def test_a_step_lasts_as_long_as_so_many_rows_on_so_many_streams_need() -> None:
    surface = Surface(SMALL, {point: rate(point) for point in SMALL.points()})
    assert surface.step_us(4, 2, 1) == pytest.approx(500 + 200 * 8, rel=0.02)
    assert surface.step_us(3, 2, 1) == pytest.approx(500 + 200 * 6, rel=0.05)  # no candidate


def test_with_two_lanes_a_stream_each_step_lasts_twice_as_long() -> None:
    space = Space(SMALL.gears, SMALL.streams, SMALL.shares, lanes=2)
    surface = Surface(space, {point: rate(point) for point in SMALL.points()})
    assert surface.step_us(4, 2, 1) == pytest.approx(2 * (500 + 200 * 8), rel=0.02)


def test_one_measurement_is_enough_to_begin_with() -> None:
    mean, deviation = Surface(SMALL, {Point(1, 1, 1): 100.0}).log_per_sec([Point(1, 1, 1), Point(8, 4, 2)])
    assert mean[0] == pytest.approx(math.log(100))
    assert deviation[1] > deviation[0]
