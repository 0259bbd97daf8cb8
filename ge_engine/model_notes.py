"""Model notes: what to know of a model that can be used as it is, and would be better otherwise."""

from __future__ import annotations

import shlex

from ops import Finding
from ops.host_stage import Step

from .model import Model


def fixed_batch_note(model: Model, size: int, where: str) -> Finding:
    """G52."""
    message = f"model '{model.model_name}' fixes its batch to {size}: every run takes that many samples"
    return Finding("G52", "advice", where, message, free_the_batch(model))


def free_the_batch(model: Model) -> str:
    """What to do for a batch of any size; the file of an ONNX model may do, with another declaration."""
    export = "export the model with a dynamic batch axis"
    if model.frozen:
        return export
    return f"{export}; gepipe inspect {shlex.quote(model.file)} says whether --fix can free it in the file"


def notes(step: Step, model: Model, opset: int) -> list[Finding]:
    """G52 to G54 of a model that joins a stage of this opset."""
    found = []
    if model.opset not in (0, opset):
        found.append(
            Finding(
                "G53",
                "advice",
                step.where,
                f"model '{model.model_name}' has opset {model.opset}; it was converted to {opset}",
                f"export it at opset {opset}, so that nothing needs converting",
            )
        )
    if model.fixed_batch is not None:
        found.append(fixed_batch_note(model, model.fixed_batch, step.where))
    nodes = () if model.frozen else model.skeleton.model.graph.node
    foreign = sorted({f"{node.domain}:{node.op_type}" for node in nodes if node.domain})
    foreign = [name for name in foreign if not name.startswith("ai.onnx:")]
    if foreign:
        found.append(
            Finding(
                "G54",
                "advice",
                step.where,
                f"model '{model.model_name}' uses operators that are not ONNX's own: {', '.join(foreign[:5])}",
                "it runs on the CPU; export it with standard operators for an NPU",
            )
        )
    return found
