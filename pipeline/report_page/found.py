"""Found: all that can be found wrong with a plan: by validate and build, in its models, and in an export of it."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ge_engine.gears import Gears
from ge_engine.inspect import facts_of
from ge_engine.model import Model
from ops import ExportError, Finding, GepipeError
from ops.host_stage import Step

from ..inspect.judge import judge
from ..triton.lint import lint

if TYPE_CHECKING:
    from ..plan import Plan


def all_findings(plan: Plan, samples: Sequence[Mapping[str, Any]] | None) -> dict[str, tuple[Finding, ...]]:
    """By who has them to say. samples: the user's own, for the export that is linted and thrown away; or None."""
    found = {"The pipeline": plan.findings}
    for step in plan.graph.steps:
        if isinstance(step.op, Model) and str(step.op.file).endswith(".onnx"):
            found[f"The model {step.op.model_name}"] = tuple(_in_model(step, plan))
    found["An export of it"] = tuple(_in_export(plan, samples))
    return found


def _in_model(step: Step, plan: Plan) -> Iterator[Finding]:
    """What `gepipe inspect` says of its file, in the gears that the plan runs it in."""
    assert isinstance(step.op, Model)
    specs = [plan.graph.specs[key] for key in step.inputs]
    stage = next(stage for stage in plan.stages if step in stage.steps)
    sizes = [
        {
            f"{name}.{axis}": dim
            for name, spec in zip(step.op.input_names, specs)
            for axis, dim in enumerate(spec.at_gear(index), 1)
        }
        for index in range(len(Gears.of_specs(specs, stage.batches).sizes) or 1)
    ]
    try:
        for finding in judge(facts_of(step.op.file, stage.batches, sizes)):
            yield _without_folder(finding, os.path.dirname(step.op.file))
    except GepipeError as error:
        yield Finding("inspect", "advice", step.where, error.message, error.fix)


def _in_export(plan: Plan, samples: Sequence[Mapping[str, Any]] | None) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="gepipe") as folder:
        try:
            plan.export(folder, samples=samples)
        except ExportError as error:
            yield Finding("export", "refused", error.where or plan.graph.name, error.message, error.fix)
            return
        for finding in lint(folder, plan.deployment.target):
            yield _without_folder(finding, folder)


def _without_folder(finding: Finding, folder: str) -> Finding:
    """A page is shown to others: where its maker keeps files is not their business."""
    texts = {name: getattr(finding, name).replace(f"{folder}/", "") for name in ("where", "message", "fix")}
    return dataclasses.replace(finding, **texts)
