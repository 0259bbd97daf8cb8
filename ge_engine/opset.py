"""Opset: which one a stage has, and models brought to it."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx.version_converter

from ops import BuildError

from . import runtime, weights
from .skeleton import Skeleton

LOWEST, HIGHEST = 13, 18  # `lower` of an op is right from 13; the compilers know operators up to 18


def stage_opset(opsets: Sequence[int], with_ops: bool) -> int:
    """The opset of a stage: its models' highest, at least 13 where ops are fused in, at most 18.

    >>> stage_opset((17,), True), stage_opset((9,), False), stage_opset((9,), True), stage_opset((), True)
    (17, 9, 13, 17)
    """
    known = [opset for opset in opsets if opset]
    wanted = max(known, default=17)
    return min(max(wanted, LOWEST) if with_ops else wanted, HIGHEST)


def converted(skeleton: Skeleton, opset: int) -> onnx.ModelProto:
    """The model at this opset; the skeleton's own (not to be changed) where it is that already.

    Errors: BuildError when onnx cannot convert it.
    """
    if skeleton.opset in (0, opset):
        return skeleton.model
    model = skeleton.copy()
    heavy = weights.detach(model)
    try:
        result = onnx.version_converter.convert_version(model, opset)
        onnx.checker.check_model(result)
    except Exception as error:  # onnx has no family of exceptions
        raise BuildError(
            f"{skeleton.path} has opset {skeleton.opset}, its stage {opset}, and onnx cannot convert it: "
            f"{runtime.first_line(error)}",
            fix=f"export the model at opset {LOWEST} to {HIGHEST}",
        ) from error
    weights.attach(result, heavy)
    return result
