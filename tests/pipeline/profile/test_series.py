from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pipeline.profile.series import WINDOW, Series


def test_a_span_lies_between_two_neighbours_whichever_is_the_earlier() -> None:
    series = Series(3)
    series.add([1, 30, 10, 11, 50])
    sums = series.sums()
    assert sums.total == [20, 1, 39]
    assert sums.p50 == sums.p90 == [20, 1, 39]


def test_a_pass_counts_once_and_once_for_each_of_its_samples() -> None:
    series = Series(1)
    for samples in (1, 4, 4):
        series.add([samples, 0, 100])
    sums = series.sums()
    assert (sums.passes, sums.samples) == (3, 9)
    assert (sums.total, sums.of_samples) == ([300], [900])
    assert sums.sizes == {1: 1, 4: 2}


def test_what_failed_is_counted_and_not_timed() -> None:
    series = Series(1)
    series.fail(3)
    sums = series.sums()
    assert (sums.passes, sums.failed, sums.total, sums.p50) == (0, 3, [0], [0])


def test_percentiles_are_numpys_over_the_last_passes_and_sums_are_over_all() -> None:
    series = Series(2)
    spans = np.random.default_rng(0).integers(1, 10**9, (WINDOW + 1543, 2))
    for first, second in spans.tolist():
        series.add([1, 0, first, first + second])
    sums = series.sums()
    assert sums.total == spans.sum(axis=0).tolist()
    want = np.percentile(spans[-WINDOW:], (50, 90), axis=0)
    assert [sums.p50, sums.p90] == want.tolist()


def test_nothing_is_lost_between_threads() -> None:
    series = Series(2)

    def work(number: int) -> None:
        for turn in range(3000):
            series.add([number, turn, turn + 1, turn + 3])
            if turn % 500 == 0:
                series.sums()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    sums = series.sums()
    assert sums.passes == 8 * 3000
    assert sums.samples == 3000 * sum(range(1, 9))
    assert sums.total == [8 * 3000, 2 * 8 * 3000]
    assert sums.sizes == dict.fromkeys(range(1, 9), 3000)
