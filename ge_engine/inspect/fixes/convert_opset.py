"""Convert the opset into the range that GE's parser knows, and the IR to the one that every runtime here reads."""

from __future__ import annotations

import onnx

from ...builder import IR_VERSION
from ...opset import HIGHEST, LOWEST, converted
from ...skeleton import Skeleton
from ..operators import DOCUMENTED, MAX_IR
from .case import Case


def convert_opset(model: onnx.ModelProto, case: Case) -> list[str]:
    """Errors: BuildError where onnx cannot convert it."""
    skeleton = Skeleton(case.path, model, {})
    done = []
    if skeleton.opset not in DOCUMENTED.opsets:
        before, wanted = skeleton.opset, HIGHEST if skeleton.opset > HIGHEST else LOWEST
        metadata = list(model.metadata_props)
        model.CopyFrom(converted(skeleton, wanted))
        del model.metadata_props[:]
        model.metadata_props.extend(metadata)
        done.append(f"opset {before} converted to {wanted}")
    if model.ir_version > (IR_VERSION if done else MAX_IR):
        done.append(f"IR {model.ir_version} written as {IR_VERSION}")
        model.ir_version = IR_VERSION
    return done
