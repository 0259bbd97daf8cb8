from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.compare.measures import Sums, top_k_agreement


def test_the_measures_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    a = random.normal(size=(3, 50)).astype(np.float32)
    b = a + random.normal(size=a.shape).astype(np.float32) * 0.01
    sums = Sums()
    for row in range(3):  # added in parts
        sums.add(a[row], b[row])
    found = sums.measure()
    x, y = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    gap = np.abs(x - y)
    assert found.count == 150
    assert found.cosine == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), rel=1e-12)
    assert found.distance == pytest.approx(np.linalg.norm(x - y) / np.linalg.norm(x), rel=1e-12)
    assert found.max_abs == gap.max()
    assert found.mean_abs == pytest.approx(gap.mean(), rel=1e-12)
    assert found.rmse == pytest.approx(math.sqrt((gap**2).mean()), rel=1e-12)
    assert found.accumulated == pytest.approx(gap.sum() / np.abs(x).sum(), rel=1e-12)
    assert found.max_relative == pytest.approx((gap / (np.abs(x) + 1e-7)).max(), rel=1e-12)


def test_overflow_and_underflow_are_counted_by_what_fp16_holds() -> None:
    sums = Sums()
    values = np.float32([65504, 65505, 1e30, 0, 2**-24, 2**-25, 1e-12])
    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    sums.add(values, half)
    found = sums.measure()
    assert (found.overflow, found.underflow, found.broken) == (2, 2, 1)  # 65505 is rounded down; 1e30 is infinite
    assert found.max_abs == pytest.approx(1, abs=1e-6)  # of what is finite on both sides


@pytest.mark.parametrize(("a", "b", "cosine"), [([0, 0], [0, 0], 1.0), ([0, 0], [1, 0], 0.0), ([1, 0], [0, 0], 0.0)])
def test_zeros_are_like_zeros_only(a: list[float], b: list[float], cosine: float) -> None:
    sums = Sums()
    sums.add(np.float32(a), np.float32(b))
    assert sums.measure().cosine == cosine


@pytest.mark.parametrize(
    ("a", "b", "broken"), [("inf", "inf", 0), ("inf", "-inf", 1), ("-inf", "nan", 1), ("nan", "1", 1)]
)
def test_infinities_are_alike_where_they_are_the_same(a: str, b: str, broken: int) -> None:
    sums = Sums()
    sums.add(np.array([a, "2"], np.float32), np.array([b, "2"], np.float32))
    assert (sums.measure().broken, sums.measure().count) == (broken, 1)


def test_a_large_tensor_is_measured_as_one_though_piece_by_piece() -> None:
    random = np.random.default_rng(0)
    a = random.normal(size=(3, 200_001)).astype(np.float32)
    b = a + random.normal(size=a.shape).astype(np.float32) / 100
    sums = Sums()
    sums.add(a, b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    found = sums.measure()
    assert found.count == a.size
    assert found.max_abs == np.abs(wide_a - wide_b).max()
    assert found.distance == pytest.approx(np.linalg.norm(wide_a - wide_b) / np.linalg.norm(wide_a), rel=1e-12)
    assert found.cosine == pytest.approx(
        (wide_a * wide_b).sum() / np.linalg.norm(wide_a) / np.linalg.norm(wide_b), rel=1e-12
    )


def test_nothing_that_could_be_compared_is_no_difference() -> None:
    sums = Sums()
    sums.add(np.float32([np.nan]), np.float32([np.nan]))
    assert (sums.measure().count, sums.measure().broken, sums.measure().cosine) == (0, 0, 1.0)


def test_top_k_agreement_is_the_share_that_both_rows_have() -> None:
    a = np.float32([[9, 8, 7, 0], [1, 2, 3, 4]])
    b = np.float32([[8, 9, 0, 7], [1, 2, 3, 4]])
    assert top_k_agreement(a, b, 1) == 0.5
    assert top_k_agreement(a, b, 2) == 1.0
