from __future__ import annotations

import pytest

from ops import GepipeError
from pipeline.tune.choose import ALL, ByStage, Case, Option, choose, front, pareto
from pipeline.tune.host import Host
from pipeline.tune.search import Measured, Surface
from pipeline.tune.space import Manners, Point, Space
from pipeline.tune.traffic import Arrival, Traffic

SPACE = Space((1, 2, 4, 8), (1, 2, 4))
NPU, CPU = Manners(pads=True, on_host=False), Manners(pads=False, on_host=True)


def step_us(point: Point) -> float:
    return 1000 + 250 * point.gear * point.streams


def options(
    traffic: Traffic | None,
    manners: Manners = NPU,
    most_gears: int = 3,
    host: Host | None = None,
    by_stage: ByStage | None = None,
) -> list[Option]:
    """All of the grid is measured: a step takes 1000 us and 250 for each row of every stream."""
    tried = {p: Measured(p.gear * p.streams * 1e6 / step_us(p), step_us(p)) for p in SPACE.points()}
    surface = Surface(SPACE, {point: seen.per_sec for point, seen in tried.items()})
    return Case(SPACE, traffic, most_gears, manners, host, by_stage or {}).options(tried, surface)


def option(per_sec: float, p99_us: float, streams: int = 1) -> Option:
    return Option(Point(4, streams, None), {ALL: (4,)}, 0, per_sec, p99_us, {4: 1})


def test_the_front_is_what_no_other_beats_in_both() -> None:
    assert front([(1, 5, "a"), (3, 9, "b"), (2, 5, "c"), (3, 8, "d"), (1, 4, "e")]) == [
        (3, 8, "d"),
        (2, 5, "c"),
        (1, 4, "e"),
    ]


def test_the_most_samples_a_second_within_the_limit_are_chosen() -> None:
    fast, slow = option(1000, 9000), option(400, 3000)
    assert choose([slow, fast]) == fast
    assert choose([slow, fast], limit_us=5000) == slow
    assert pareto([slow, fast, option(300, 4000)]) == [fast, slow]


def test_of_those_nearly_as_good_the_soonest_answers_and_the_fewest_streams_are_chosen() -> None:
    best = option(990, 5000, streams=1)
    assert choose([option(1000, 9000), option(995, 5000, streams=4), best, option(900, 100)]) == best


def test_a_limit_that_nothing_meets_is_an_error_with_both_values() -> None:
    with pytest.raises(GepipeError, match="p99 is 3 ms at least, and 2 ms are asked for") as caught:
        choose([option(400, 3000), option(1000, 9000)], limit_us=2000)
    assert "came with gear 4 and 1 stream, 400.0 samples/s" in str(caught.value)


def test_where_no_traffic_is_known_the_best_measurement_is_chosen_with_a_gear_for_single_samples() -> None:
    best = choose(options(None))
    assert best.point == Point(8, 4, None)
    assert best.per_sec == pytest.approx(8 * 4 * 1e6 / 9000)
    assert (best.gears[ALL][0], best.largest) == (1, 8)
    assert len(best.gears[ALL]) == 3


def test_a_histogram_gives_the_gears_that_take_least_time() -> None:
    best = choose(options(Traffic("a histogram", {1: 900, 2: 50, 7: 50}), most_gears=2))
    # On 4 streams a step takes 2, 3, 5 or 9 ms. The 7 are split, for 4 and 4 pad less than 8 does for the 2.
    assert best.gears == {ALL: (1, 4)}
    assert best.per_sec == pytest.approx(4e6 * 1350 / (900 * 2000 + 50 * 5000 + 100 * 5000), rel=0.03)
    assert best.p99_us == pytest.approx(2 * 5000, rel=0.03)


def test_on_a_device_that_pads_nothing_a_batch_takes_its_own_time() -> None:
    best = choose(options(Traffic("a histogram", {1: 900, 2: 50, 7: 50}), CPU, most_gears=2))
    assert best.per_sec == pytest.approx(4e6 * 1350 / (900 * 2000 + 50 * 3000 + 50 * 8000), rel=0.03)


def test_a_request_beyond_the_largest_gear_takes_several_steps() -> None:
    best = choose(options(Traffic("a histogram", {20: 10})))
    assert best.batches == {8: 20, 4: 10}
    assert best.p99_us == pytest.approx(9000 + 9000 + 5000, rel=0.03)


def test_a_log_of_rare_requests_gives_the_time_of_one_step() -> None:
    arrivals = tuple(Arrival(float(second)) for second in range(50))
    rare = options(Traffic("a log", {1: 50}, arrivals))
    best = min(rare, key=lambda option: option.p99_us)
    assert best.max_delay_us == 0
    assert best.gears == {ALL: (1,)}
    assert best.p99_us == pytest.approx(1250, rel=0.03)


def test_a_delay_is_worth_it_where_requests_come_close_together_and_time_allows() -> None:
    arrivals = tuple(Arrival(pair * 0.02 + part * 0.001) for pair in range(50) for part in range(4))
    found = options(Traffic("a log", {1: 200}, arrivals))
    most, soonest = choose(found), choose(found, limit_us=min(option.p99_us for option in found) * 1.01)
    assert most.max_delay_us >= 3000
    assert most.batches == {4: 50}
    assert soonest.max_delay_us == 0
    assert soonest.p99_us < most.p99_us


def test_a_host_that_is_slower_than_the_device_bounds_the_rate_and_the_choice_is_the_soonest_that_it_can_feed() -> None:
    host = Host(cores=2, before_us=3000, after_us=1000, shared=False)  # 500 a second
    best = choose(options(None, host=host))
    assert best.per_sec == host.most_per_sec == 500
    assert best.point == Point(1, 1, None)  # which does 800
    assert best.p99_us == pytest.approx(1250 + 4000)


def test_on_the_same_cores_the_host_takes_its_part_of_the_rate() -> None:
    host = Host(cores=4, before_us=500, after_us=0, shared=True)
    best = choose(options(None, CPU, host=host))
    assert best.point == Point(8, 2, None)  # 2 of the 4 cores do 3200 a second, and the others prepare more than that
    assert best.per_sec == pytest.approx(3200)
    busier = choose(options(None, CPU, host=Host(cores=4, before_us=2000, after_us=0, shared=True)))
    assert busier.per_sec == pytest.approx(4 / (2000e-6 + 1 / (8e6 / 3000)))  # one stream takes least of them


def test_each_stage_gets_the_gears_that_its_own_steps_want() -> None:
    histogram = Traffic("a histogram", {1: 500, 3: 300, 8: 100})
    flat = dict.fromkeys(SPACE.gears, 500.0)  # of 1000 us and 1000 for each row, on 4 streams
    steep = {gear: 500.0 + 1000.0 * gear for gear in SPACE.gears}
    best = choose(options(histogram, most_gears=4, by_stage={"text": flat, "image": steep}))
    assert best.largest == 8
    assert best.gears["image"] == (1, 4, 8)
    assert best.gears["text"] == (8,)


def test_stages_that_are_alike_get_the_gears_of_both_together() -> None:
    histogram = Traffic("a histogram", {1: 500, 3: 300, 8: 100})
    alike = {gear: 100.0 * gear for gear in SPACE.gears}
    (together,) = {choose(options(histogram)).gears[ALL]}
    assert set(choose(options(histogram, by_stage={"a": alike, "b": alike})).gears.values()) == {together}
