"""Which gears: those that cost least for a histogram of batch sizes, and what padding wastes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from ge_engine.gears import pick

Histogram = Mapping[int, int]  # how many batches of each size


def best_gears(
    histogram: Histogram, most: int, cost: Callable[[int], float] = float, among: Iterable[int] | None = None
) -> tuple[int, ...]:
    """At most so many gears, with which all batches together cost least; the fewest of those that cost the same.

    cost: of one step of a gear; by default its rows, so that the padding is least. among: the sizes that may be gears;
    by default those that occur, which is enough where a larger gear never costs less.

    >>> best_gears({1: 500, 2: 120, 3: 40, 8: 10}, 2)
    (2, 8)
    """
    sizes = sorted(set(histogram if among is None else among))
    counts = [0, *accumulate(_count_up_to(histogram, sizes))]
    first_end = bisect_left(sizes, max(histogram)) + 1  # the last gear holds the largest batch
    assert first_end <= len(sizes), (histogram, sizes)
    costs = [cost(size) for size in sizes]
    # total[end]: the least cost of all batches up to sizes[end - 1], which is the last gear; with one gear more a turn
    total = [0.0] + [float("inf")] * len(sizes)
    gears: list[tuple[int, ...]] = [()] * (len(sizes) + 1)
    best: tuple[float, int, tuple[int, ...]] = (float("inf"), 0, ())
    for turn in range(1, min(most, len(sizes)) + 1):
        before, before_gears = total, gears
        total, gears = [float("inf")], [()]
        for end in range(1, len(sizes) + 1):
            least, start = min(
                (before[start] + costs[end - 1] * (counts[end] - counts[start]), start) for start in range(end)
            )
            total.append(least)
            gears.append((*before_gears[start], sizes[end - 1]))
        best = min(best, *((total[end], turn, gears[end]) for end in range(first_end, len(sizes) + 1)))
    return best[2]


def few_gears(
    histogram: Histogram, most: int, cost: Callable[[int], float], among: Iterable[int], nearly: float
) -> tuple[int, ...]:
    """As best_gears, but the fewest that are nearly as good: each gear has to be compiled, and costs are measured.

    nearly: how much dearer they may be.

    >>> few_gears({1: 500, 2: 120, 3: 40, 8: 10}, 4, lambda gear: 100 + gear, (1, 2, 3, 8), 0.02)
    (2, 8)
    """
    sets = [best_gears(histogram, count, cost, among) for count in range(1, most + 1)]
    costs = [sum(count * cost(pick(gears, size)) for size, count in histogram.items()) for gears in sets]
    return next(gears for gears, of_these in zip(sets, costs) if of_these <= (1 + nearly) * costs[-1])


def pad_waste(histogram: Histogram, gears: Sequence[int]) -> float:
    """Rows of padding for each row of samples.

    >>> pad_waste({1: 2, 3: 2}, (1, 4))
    0.25
    """
    padding = sum(count * (pick(gears, size) - size) for size, count in histogram.items())
    return padding / sum(count * size for size, count in histogram.items())


def split_at(histogram: Histogram, largest: int) -> dict[int, int]:
    """The batches that run, where one that is larger than the largest gear is split.

    >>> split_at({3: 1, 10: 2}, 4)
    {3: 1, 4: 4, 2: 2}
    """
    split: dict[int, int] = {}
    for size, count in histogram.items():
        whole, rest = divmod(size, largest)
        for part, times in ((largest, whole), (rest, 1)):
            if part and times:
                split[part] = split.get(part, 0) + times * count
    return split


def _count_up_to(histogram: Histogram, sizes: Sequence[int]) -> list[int]:
    """For each of the sizes, the batches that it holds and the one before does not."""
    counts = [0] * len(sizes)
    for size, count in histogram.items():
        counts[min(bisect_left(sizes, size), len(sizes) - 1)] += count
    return counts
