"""Tune: search, choose, and what is to be said about it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..deployment import Deployment
from .choose import ALL, ByStage, Case, Option, StageGears, choose, pareto
from .search import Measure, Measured, Search, Surface
from .space import Point, Share, with_share

_SPARE = 0.2  # of the tries: kept for the gears that were chosen, where what they take decides and not the largest


@dataclass(frozen=True)
class Tuned:
    """What came of it.

    tried: what was measured, of so many candidates. options: those that no other beats; chosen: one of them, or one
    nearly as good. surface: what any candidate would do. unsteadiness: of two measurements of the same.
    """

    case: Case
    tried: Mapping[Point, Measured]
    surface: Surface
    candidates: int
    options: Sequence[Option]
    chosen: Option
    unsteadiness: float = 1.0

    def step_us(self, gear: int) -> tuple[float, bool]:
        """A step of this gear with the chosen streams busy, and whether that was measured, not expected."""
        point = self.chosen.point._replace(gear=gear)
        return self.surface.step_us(*point), point in self.tried

    def deployment(self, base: Deployment, models: Mapping[str, Sequence[str]]) -> Deployment:
        """The choice, in the place of the base's own settings. models: those of each device stage."""
        settings = with_share(base, self.chosen.point.streams, self.chosen.point.share)
        batching = dataclasses.replace(base.batching, max_delay_us=self.chosen.max_delay_us)
        return Deployment.of(settings, gears=by_model(self.chosen.gears, models), batching=batching)


def tune(
    case: Case,
    measure: Measure,
    limit_us: float = math.inf,
    by_stage: Callable[[Share], ByStage] = lambda share: {},
) -> Tuned:
    """by_stage: tells, for a share of the cores, what the stages that may have gears of their own take of a step.

    Errors: GepipeError when nothing that was tried is within the limit; those of the measure.
    """
    host = case.host
    enough = host.most_per_sec if host is not None and not host.shared else math.inf
    step_limit_us = limit_us - (host.us if host is not None else 0.0)
    search = Search(case.space, measure, enough)
    by_gear = case.manners.pads and case.traffic is not None
    search.run(step_limit_us, spare=int(_SPARE * search.budget) if by_gear else 0)
    search.again()
    best = max(search.tried, key=lambda point: search.tried[point].per_sec)
    case = dataclasses.replace(case, by_stage=by_stage(best.share))
    options, tried = case.options(search.tried, search.surface), len(search.tried)
    chosen = choose(options, limit_us)
    for gear in sorted({gear for gears in chosen.gears.values() for gear in gears}, reverse=True):
        search.try_(chosen.point._replace(gear=gear))
    surface = search.surface
    if len(search.tried) > tried:
        options = case.options(search.tried, surface)
    chosen = choose(options, limit_us)
    return Tuned(case, search.tried, surface, search.size, pareto(options), chosen, search.unsteadiness)


def by_model(gears: StageGears, models: Mapping[str, Sequence[str]]) -> tuple[int, ...] | dict[str, tuple[int, ...]]:
    """As a Deployment has them: once, where all stages have the same; a model that is not named has gear 1."""
    if ALL in gears or (len(set(gears.values())) == 1 and gears.keys() == models.keys()):
        return next(iter(gears.values()))
    return {model: own for stage, own in gears.items() for model in models[stage]}
