"""Stages: which device stages of a plan can have which gears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ge_engine.model import Model
from ge_engine.stage import BuiltStage
from ops import WrongUse

from ..plan import Plan
from .choose import ByStage
from .space import Share
from .steps import Steps


@dataclass(frozen=True)
class Stages:
    """gears: that a step can have. models: those of each device stage. own: the stages that have gears of their own."""

    gears: tuple[int, ...]
    models: Mapping[str, tuple[str, ...]]
    own: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan, pads: bool) -> Stages:
        """plan: built for all gears that are to be tried. Errors: WrongUse for a plan that has nothing to tune."""
        on_device = [stage for stage in plan.stages if stage.on_device]
        if not on_device:
            raise WrongUse(f"pipeline '{plan.graph.name}' has no device stage", fix="tune one that has a Model")
        models = {
            stage.name: tuple(dict.fromkeys(step.op.model_name for step in stage.steps if isinstance(step.op, Model)))
            for stage in on_device
        }
        single = {stage.name for stage in on_device if _takes_one(plan.built[stage.name], pads)}
        shared = max(Counter(model for names in models.values() for model in names).values()) > 1
        first = {stage.name for stage in on_device if stage.level == on_device[0].level}
        if single & first or (single and shared):
            return cls((1,), models, ())  # one sample at a time, whatever the gears
        gears = plan.deployment.gears
        assert not isinstance(gears, Mapping)
        several = len(on_device) > 1 and not shared and (pads or bool(single))
        own = tuple(stage.name for stage in on_device if several and stage.name not in single)
        return cls(gears, models, own)

    def measured(self, steps: Steps, share: Share) -> ByStage:
        """What each of those takes of a step, in a share of the cores."""
        found = steps.by_stage(self.gears, share) if self.own else {}
        return {stage: found[stage] for stage in self.own}


def _takes_one(stage: BuiltStage, pads: bool) -> bool:
    return stage.mixing_node is not None or (bool(stage.gears.sizes) and pads)
