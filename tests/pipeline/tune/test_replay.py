from __future__ import annotations

import pytest

from pipeline import Batching
from pipeline.tune.host import Host
from pipeline.tune.replay import Replay, replay
from pipeline.tune.space import Manners
from pipeline.tune.traffic import Arrival

NPU, CPU = Manners(pads=True, on_host=False), Manners(pads=False, on_host=True)


def run(
    times_ms: list[float], *, samples: int = 1, streams: int = 1, delay_us: int = 0, manners: Manners = NPU
) -> Replay:
    """In batches of 4 at most, each of which takes 1 ms."""
    arrivals = [Arrival(time * 1e-3, samples) for time in times_ms]
    return replay(arrivals, 4, streams, Batching(max_delay_us=delay_us), manners, lambda rows, busy: 1000.0)


def ms(seen: Replay) -> list[float]:
    return [pytest.approx(seconds * 1e3) for seconds in seen.latencies_s]


def test_what_comes_while_a_step_runs_is_merged_into_the_next() -> None:
    seen = run([0, 0.2, 0.4])
    assert ms(seen) == [1.0, 1.8, 1.6]
    assert seen.batches == {1: 1, 2: 1}


def test_a_delay_lets_the_first_wait_for_others() -> None:
    seen = run([0, 0.2, 0.4], delay_us=500)
    assert ms(seen) == [1.5, 1.3, 1.1]
    assert seen.batches == {3: 1}


def test_a_full_batch_does_not_wait() -> None:
    seen = run([0, 0.1, 0.2, 0.3, 5], delay_us=500)
    assert ms(seen) == [1.3, 1.2, 1.1, 1.0, 1.5]
    assert seen.batches == {4: 1, 1: 1}


def test_two_streams_run_side_by_side() -> None:
    assert ms(run([0, 0.2, 0.4], streams=2)) == [1.0, 1.0, 1.6]


def test_two_batches_are_on_their_way_for_each_stream_where_the_device_has_them() -> None:
    seen = run([0, 0.1, 0.2, 0.3, 0.4], manners=Manners(pads=True, on_host=False, in_flight=2))
    assert seen.batches == {1: 1, 4: 1}  # the second lane takes a full batch only
    assert ms(seen) == [1.0, 1.3, 1.2, 1.1, 1.0]


def test_a_request_of_many_samples_is_answered_with_its_last_batch() -> None:
    seen = run([0], samples=6)
    assert ms(seen) == [2.0]
    assert seen.batches == {4: 1, 2: 1}


def test_on_the_hosts_cores_what_came_together_runs_together() -> None:
    seen = run([0, 0], samples=2, manners=CPU)
    assert ms(seen) == [1.0, 1.0]
    assert seen.batches == {4: 1}


def test_a_step_takes_what_is_said_for_the_streams_that_are_busy() -> None:
    arrivals = [Arrival(0.0), Arrival(0.0005)]
    seen = replay(arrivals, 1, 2, Batching(), NPU, lambda rows, busy: 1000.0 * busy)
    assert ms(seen) == [1.0, 2.0]


@pytest.mark.parametrize("delay_us", [0, 700])
@pytest.mark.parametrize("manners", [NPU, CPU, Manners(pads=True, on_host=False, cards=2, in_flight=2)])
def test_every_request_is_answered_and_no_batch_is_too_large(manners: Manners, delay_us: int) -> None:
    times_ms = [(index * 7919 % 1000) / 50 for index in range(500)]
    seen = run(sorted(times_ms), samples=3, streams=3, delay_us=delay_us, manners=manners)
    assert sum(size * count for size, count in seen.batches.items()) == 1500
    assert max(seen.batches) <= 4
    assert min(seen.latencies_s) >= 1e-3


def test_the_host_prepares_as_many_samples_at_once_as_it_has_cores() -> None:
    host = Host(cores=2, before_us=2000, after_us=0, shared=False)
    seen = replay([Arrival(0.0, 4)], 1, 4, Batching(), NPU, lambda rows, busy: 1000.0, host)
    assert ms(seen) == [5.0]  # two after 2 ms, two after 4, and a step
    assert seen.batches == {1: 4}


def test_who_answers_does_so_sample_by_sample() -> None:
    host = Host(cores=1, before_us=0, after_us=500, shared=False)
    seen = replay([Arrival(0.0, 4)], 4, 1, Batching(max_delay_us=100), NPU, lambda rows, busy: 1000.0, host)
    assert ms(seen) == [1.0 + 4 * 0.5]


def test_a_device_on_the_same_cores_waits_for_one() -> None:
    host = Host(cores=1, before_us=1000, after_us=0, shared=True)
    seen = replay([Arrival(0.0), Arrival(0.0)], 1, 1, Batching(), CPU, lambda rows, busy: 1000.0, host, 1)
    assert ms(seen) == [2.0, 4.0]


def test_a_host_that_is_too_slow_lets_the_queue_grow() -> None:
    host = Host(cores=1, before_us=2000, after_us=0, shared=False)
    arrivals = [Arrival(0.001 * index) for index in range(100)]
    seen = replay(arrivals, 4, 8, Batching(), NPU, lambda rows, busy: 100.0, host)
    assert seen.latencies_s[-1] == pytest.approx(0.1 + 0.0011, rel=0.01)  # 200 ms of work in 99
    assert replay(arrivals, 4, 8, Batching(), NPU, lambda rows, busy: 100.0).latencies_s[-1] == pytest.approx(0.0001)
