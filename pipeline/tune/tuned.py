"""Tune: search, choose, and what is to be said about it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..deployment import Deployment
from .choose import Case, Option, choose, pareto
from .gears import best_gears, pad_waste, split_at
from .search import Measure, Measured, Search
from .space import Point, with_share
from .surface import Surface

_SPARE = 0.2  # of the tries: kept for the gears that were chosen, where what they take decides and not the largest


@dataclass(frozen=True)
class Tuned:
    """What came of it.

    tried: what was measured, of so many candidates. options: those that no other beats; chosen: one of them, or one
    nearly as good. steps_us: of each chosen gear with all streams busy; expected: those of them that were not measured.
    """

    tried: Mapping[Point, Measured]
    candidates: int
    options: Sequence[Option]
    chosen: Option
    steps_us: Mapping[int, float]
    expected: tuple[int, ...]

    def deployment(self, base: Deployment) -> Deployment:
        """The choice, in the place of the base's own settings."""
        settings = with_share(base, self.chosen.point.streams, self.chosen.point.share)
        batching = dataclasses.replace(base.batching, max_delay_us=self.chosen.max_delay_us)
        return Deployment.of(settings, gears=self.chosen.gears, batching=batching)


def tune(case: Case, measure: Measure, limit_us: float = math.inf) -> Tuned:
    """Errors: GepipeError when nothing that was tried is within the limit; those of the measure."""
    search = Search(case.space, measure)
    by_gear = case.manners.pads and case.traffic is not None
    search.run(limit_us, spare=int(_SPARE * search.budget) if by_gear else 0)
    search.again()
    chosen = choose(case.options(search.tried, search.surface), limit_us)
    for gear in reversed(chosen.gears):
        search.try_(chosen.point._replace(gear=gear))
    surface = search.surface
    options = case.options(search.tried, surface)
    chosen = choose(options, limit_us)
    return Tuned(search.tried, search.size, pareto(options), chosen, *_steps(chosen, search.tried, surface))


def gear_sets(case: Case, option: Option) -> dict[tuple[int, ...], float]:
    """For each number of gears, those that pad least, and their waste; and the option's own, on what it would run."""
    batches, among = option.batches, case.space.gears
    if case.traffic is not None and not case.traffic.arrivals:
        batches = split_at(case.traffic.histogram, among[-1])
    sets = dict.fromkeys(best_gears(batches, count, among=among) for count in range(1, case.most_gears + 1))
    waste = {gears: pad_waste(batches, gears) for gears in sets}
    return {**waste, option.gears: pad_waste(option.batches, option.gears)}


def _steps(
    option: Option, tried: Mapping[Point, Measured], surface: Surface
) -> tuple[dict[int, float], tuple[int, ...]]:
    point = option.point
    steps_us = {gear: surface.step_us(gear, point.streams, point.share) for gear in option.gears}
    return steps_us, tuple(gear for gear in option.gears if point._replace(gear=gear) not in tried)
