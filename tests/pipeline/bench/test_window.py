from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.bench import Counters
from pipeline.bench.window import Window, merge, stable

times = st.floats(1e-6, 10)
windows = st.builds(lambda count, latency: Window(2.0, [latency] * count), st.integers(1, 500), times)


@given(st.lists(times, min_size=1, max_size=50))
def test_percentiles_are_those_of_numpy(latencies: list[float]) -> None:
    found = Window(1.0, latencies).latency_us
    microseconds = np.array(latencies) * 1e6
    assert found.avg == pytest.approx(microseconds.mean())
    assert found[1:] == pytest.approx([np.percentile(microseconds, share) for share in (50, 90, 95, 99)])
    assert found.p50 <= found.p90 <= found.p95 <= found.p99


def test_throughput_counts_samples() -> None:
    window = Window(2.0, [0.1] * 10, rows=4)
    assert (window.requests_per_sec, window.infer_per_sec) == (5, 20)


def test_a_window_without_an_answer_is_all_zeros() -> None:
    assert Window(0.0, ()).infer_per_sec == 0
    assert Window(1.0, ()).latency_us == (0, 0, 0, 0, 0)
    assert merge([]) == Window(0.0, ())


@given(st.lists(windows, max_size=6), windows, st.floats(0, 1))
def test_three_equal_windows_are_stable_whatever_came_before(
    before: list[Window], window: Window, tolerance: float
) -> None:
    assert stable([*before, window, window, window], tolerance + 1e-9)


@given(st.lists(windows, max_size=2), st.floats(0, 10))
def test_fewer_than_three_are_not_stable(few: list[Window], tolerance: float) -> None:
    assert not stable(few, tolerance)


@given(st.permutations([9, 10, 11]))
def test_the_tolerance_is_a_share_of_the_mean(counts: list[int]) -> None:
    three = [Window(1.0, [1.0] * count) for count in counts]
    assert stable(three, 0.1001)
    assert not stable(three, 0.0999)


@given(st.permutations([0.9, 1.0, 1.1]))
def test_latency_must_agree_too(latencies: list[float]) -> None:
    three = [Window(1.0, [latency] * 10) for latency in latencies]
    assert stable(three, 0.1001)
    assert not stable(three, 0.0999)


@given(st.lists(windows, min_size=3, max_size=3), st.floats(0, 1), st.floats(0, 1))
def test_what_is_stable_stays_so_when_more_is_allowed(three: list[Window], one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert not stable(three, less) or stable(three, more)


def test_merged_windows_hold_all_of_them() -> None:
    first = Window(1.0, [0.1], 2, 0.5, {"m": Counters(succeeded=1)}, {"m": Counters(succeeded=3)})
    second = Window(2.0, [0.2, 0.3], 2, 0.25, {"m": Counters(succeeded=3)}, {"m": Counters(succeeded=8)})
    merged = merge([first, second])
    assert merged == Window(3.0, [0.1, 0.2, 0.3], 2, 0.75, first.before, second.after)
    assert merged.counted["m"].succeeded == 7
