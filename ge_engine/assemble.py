"""Assemble: the steps of a stage, lowered into one graph with a symbolic batch."""

from __future__ import annotations

import onnx

from ops import BuildError, Finding, GepipeError
from ops.host_stage import Step
from ops.op import by_output

from .builder import GraphBuilder, GraphValue
from .model import Model
from .model_notes import notes
from .opset import stage_opset
from .stage import StageGraph


def assemble(stage: StageGraph) -> tuple[onnx.ModelProto, list[Finding]]:
    """The whole stage as one graph, and what had to be done to its models.

    Errors: BuildError, placed at the step that cannot be lowered.
    """
    models = [(step, step.op) for step in stage.steps if isinstance(step.op, Model)]
    opset = stage_opset([model.opset for _, model in models], with_ops=len(models) < len(stage.steps))
    g = GraphBuilder(opset)
    values: dict[str, GraphValue] = {key: g.input(key, spec) for key, spec in stage.inputs}
    for key, array in stage.constants.items():
        values[key] = g.same_for_all(array)
    for key, _ in stage.outputs:
        g.reserve(key)
    for step in stage.steps:
        _lower(g, step, values)
    for key, spec in stage.outputs:
        g.output(key, g.batched(values[key]), spec)
    return g.model(), [note for step, model in models for note in notes(step, model, opset)]


def _lower(g: GraphBuilder, step: Step, values: dict[str, GraphValue]) -> None:
    g.prefix = f"{step.name}/"
    inputs = [values[key] for key in step.inputs]
    constant = all(value.same_for_all for value in inputs) and not isinstance(step.op, Model)
    try:
        results = step.op.lower(g, *inputs)  # type: ignore[attr-defined]  # a device step can be lowered
    except GepipeError as error:
        raise error.at(step.place)  # noqa: B904  # the very same error, placed
    except Exception as error:
        raise BuildError(
            f"lower failed: {type(error).__name__}: {error}",
            fix="look at the cause; the op is at fault",
            where=step.place,
        ) from error
    named = by_output(step.op, results)
    for key, output, spec in step.outputs:
        values[key] = GraphValue(named[output].name, spec, same_for_all=constant)
