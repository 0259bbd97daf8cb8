from __future__ import annotations

from pipeline.bench import Counters
from pipeline.counters import difference

EARLIER = Counters(2, 1, 5, 2, 100, 10, 20, 30, 40, 50, {1: 1, 4: 1}, 2)
LATER = Counters(6, 1, 17, 5, 8100, 4010, 20, 30, 40, 1_000_000_050, {8: 1, 1: 1, 4: 2, 2: 1}, 2)


def test_a_difference_is_what_happened_between() -> None:
    assert Counters(4, 0, 12, 3, 8000, 4000, 0, 0, 0, 1_000_000_000, {2: 1, 4: 1, 8: 1}, 2) == LATER - EARLIER
    assert difference({"new": EARLIER}, {}) == {"new": EARLIER}


def test_times_are_of_one_request_and_batches_of_one_execution() -> None:
    between = LATER - EARLIER
    assert between.each_us(between.queue_ns) == 1.0
    assert between.mean_batch == 4
    assert Counters().each_us(0) == Counters().mean_batch == 0


def test_the_busy_share_is_that_of_an_instance() -> None:
    assert (LATER - EARLIER).busy(2.0) == 0.25
    assert Counters().busy(2.0) is None


def test_what_is_zero_is_left_out_of_the_words() -> None:
    assert repr(Counters(succeeded=2, batches={4: 1})) == "Counters(succeeded=2, batches={4: 1})"
    assert repr(Counters()) == "Counters()"
