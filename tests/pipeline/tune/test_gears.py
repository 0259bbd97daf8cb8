from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

from ge_engine.gears import pick
from pipeline.tune.gears import best_gears, few_gears, pad_waste, split_at


def total(histogram: Mapping[int, int], gears: tuple[int, ...], cost: Callable[[int], float]) -> float:
    return sum(count * cost(pick(gears, size)) for size, count in histogram.items())


def by_brute_force(
    histogram: Mapping[int, int], most: int, cost: Callable[[int], float], among: Iterable[int]
) -> float:
    """Every set of so many gears that holds the largest batch."""
    sets = (gears for count in range(1, most + 1) for gears in itertools.combinations(sorted(among), count))
    return min(total(histogram, gears, cost) for gears in sets if gears[-1] >= max(histogram))


def random_histogram(random: np.random.Generator, largest: int = 10) -> dict[int, int]:
    sizes = random.choice(np.arange(1, largest + 1), size=random.integers(1, largest), replace=False)
    return {int(size): int(random.integers(1, 1000)) for size in sizes}


@pytest.mark.parametrize("seed", range(300))
def test_no_set_of_gears_pads_less(seed: int) -> None:
    random = np.random.default_rng(seed)
    histogram, most = random_histogram(random), int(random.integers(1, 6))
    gears = best_gears(histogram, most)
    assert len(gears) <= most
    # Against every set of sizes, also of those that do not occur.
    assert total(histogram, gears, float) == by_brute_force(histogram, most, float, range(1, 11))


@pytest.mark.parametrize("seed", range(50))
def test_no_set_costs_less_whatever_a_step_costs(seed: int) -> None:
    random = np.random.default_rng(seed)
    histogram, most = random_histogram(random), int(random.integers(1, 6))
    among = sorted({*map(int, random.choice(np.arange(1, 13), size=6, replace=False)), 12})
    costs = random.integers(1, 100, size=13)  # a larger gear may cost less
    gears = best_gears(histogram, most, lambda gear: float(costs[gear]), among)
    assert set(gears) <= set(among)
    assert len(gears) <= most
    cost = total(histogram, gears, lambda gear: float(costs[gear]))
    assert cost == by_brute_force(histogram, most, lambda gear: float(costs[gear]), among)


def test_gears_that_gain_nothing_are_left_out() -> None:
    assert best_gears({4: 100}, 4) == (4,)
    assert best_gears({1: 1, 4: 1}, 4, lambda gear: 7.0) == (4,)


@pytest.mark.parametrize("seed", range(20))
def test_of_the_sets_that_are_nearly_as_good_the_one_of_fewest_gears_is_taken(seed: int) -> None:
    random = np.random.default_rng(seed)
    histogram = random_histogram(random)

    def cost(gear: int) -> float:
        return 50.0 + gear

    few, best = few_gears(histogram, 5, cost, range(1, 11), 0.03), best_gears(histogram, 5, cost, range(1, 11))
    assert total(histogram, few, cost) <= 1.03 * total(histogram, best, cost)
    if len(few) > 1:
        fewer = by_brute_force(histogram, len(few) - 1, cost, range(1, 11))
        assert fewer > 1.03 * total(histogram, best, cost)


def test_pad_waste_is_padding_for_each_row() -> None:
    histogram = {1: 500, 2: 120, 3: 40, 8: 10}  # 940 rows
    assert pad_waste(histogram, (1, 2, 3, 8)) == 0
    assert pad_waste(histogram, (2, 8)) == pytest.approx((500 * 1 + 40 * 5) / 940)


def test_a_batch_beyond_the_largest_gear_is_split() -> None:
    assert split_at({2: 3, 9: 2}, 4) == {2: 3, 4: 4, 1: 2}
