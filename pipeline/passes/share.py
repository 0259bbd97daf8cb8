"""Share: what is asked for twice is computed once, as the one picture that two models see."""

from __future__ import annotations

from ge_engine.model import Model
from ops import TensorSpec
from ops.host_stage import Step
from ops.op import Lowerable

from ..deployment import Deployment
from ..graph import Graph
from .change import BITWISE, Change, saving
from .rewrite import reading, rebuilt

OURS = ("ops", "ge_engine")


def share(graph: Graph, deployment: Deployment) -> tuple[Graph, tuple[Change, ...]]:
    """Equal ops on equal inputs become one.

    Requires: nothing. Ensures: no two steps that can be shared are alike.
    Left alone is a user's own op, which may give another answer the second time, and what can run in a model's graph:
    there it is cheap, and two models that share it would have to wait for the host.
    """
    specs = graph.specs
    first: dict[object, Step] = {}
    same: dict[str, str] = {}
    kept: list[Step] = []
    changes = []
    for step in (reading(step, same) for step in graph.steps):
        if not _can_be_shared(step, specs):
            kept.append(step)
            continue
        other = first.setdefault((step.op, repr(step.op), step.inputs), step)  # 0.0 == -0.0, but not to the byte
        if other is step:
            kept.append(step)
            continue
        same.update((key, theirs) for (key, _, _), (theirs, _, _) in zip(step.outputs, other.outputs))
        changes.append(_change(step, other))
    return rebuilt(graph, kept, same), tuple(changes)


def _can_be_shared(step: Step, specs: dict[str, TensorSpec]) -> bool:
    if type(step.op).__module__.partition(".")[0] not in OURS:
        return False
    in_graph = isinstance(step.op, Lowerable) and all(specs[key].is_fixed for key in step.inputs)
    return isinstance(step.op, Model) or not in_graph


def _change(step: Step, other: Step) -> Change:
    saved, estimate = saving([spec for _, _, spec in step.outputs])
    return Change(
        "share",
        step.name,
        step.where,
        f"{type(step.op).__name__} of {', '.join(step.inputs)} twice",
        f"{other.name} serves both",
        saved,
        BITWISE,
        f"the op at {other.where} is the same, on the same values",
        estimate,
    )
