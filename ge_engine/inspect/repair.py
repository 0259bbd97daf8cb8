"""Repair: a model mended, one fix after the other. A fix that cannot be proven equal is not made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import onnx

from ops import BuildError, ModelError

from ..runtime import first_line
from ..skeleton import check_sound, read_loosely
from . import fixes
from .axis_names import Sizes
from .facts import Facts
from .fixes.case import Case
from .free_axes import worth_freeing
from .points import open_shapes, points_of, trial_sizes
from .proof import Desk, Original, Point, Proof, Unproven

_FIXES: Mapping[str, Callable[[onnx.ModelProto, Case], list[str]]] = {
    "shapes": fixes.free_shapes,
    "outputs": fixes.drop_outputs,
    "dead": fixes.drop_nodes,
    "operators": fixes.expand_operators,
    "opset": fixes.convert_opset,
    "names": fixes.name_axes,
    "types": fixes.cast_ends,
    "scalars": fixes.unscalar,
    "constants": fixes.fold_constants,
}
NAMES = tuple(_FIXES)
_FEW = 3  # input shapes with which each fix is proven


@dataclass(frozen=True)
class Fixed:
    """What one fix did, and how it was shown to be right; or why it was not made."""

    name: str
    done: tuple[str, ...]
    proof: Proof | None
    why_not: str = ""


@dataclass(frozen=True)
class Repaired:
    """The mended model, its weights by reference, and what was done. proof: of all fixes together, at every gear."""

    model: onnx.ModelProto
    fixes: tuple[Fixed, ...]
    proof: Proof

    @property
    def changed(self) -> bool:
        return any(fixed.proof is not None for fixed in self.fixes)


def repair(
    facts: Facts, batches: Sequence[int] | None, sizes: Sequence[Sizes], folder: Path, skip: Collection[str] = ()
) -> Repaired:
    """Mend what can be mended. folder: for files on the way. skip: names of fixes that are not wanted.

    Errors: ModelError where the model cannot be read or run, so that nothing can be proven.
    """
    with Desk(folder) as desk:
        return _repaired(facts, batches, sizes, desk, skip)


def _repaired(
    facts: Facts, batches: Sequence[int] | None, sizes: Sequence[Sizes], desk: Desk, skip: Collection[str]
) -> Repaired:
    path, inputs = facts.file.path, facts.file.inputs
    model = read_loosely(path)
    _unlift(model)
    original = _opened(path)
    free = {} if "shapes" in skip else {port.name: worth_freeing(port, facts.free) for port in inputs}
    trial = trial_sizes(original, path, inputs, sizes, free)
    case = Case(path, sizes, free, trial)
    points = points_of(inputs, batches, sizes or (trial,), free)
    original.check_repeatable(points[0])
    if any(free.values()):
        original.forget_sizes(model, open_shapes(inputs, free), desk)
    done = []
    for name, fix in _FIXES.items():
        if name in skip:
            continue
        candidate = onnx.ModelProto()
        candidate.CopyFrom(model)
        fixed = _tried(name, fix, candidate, case, partial(original.prove, desk=desk, points=_few(points)))
        if fixed is None:
            continue
        done.append(fixed)
        model = candidate if fixed.proof is not None else model
        if name == "shapes" and fixed.proof is None:  # then the declared sizes hold
            case, points = replace(case, free={}), points_of(inputs, batches, sizes or (trial,), {})
    try:
        return Repaired(model, tuple(done), original.prove(model, desk, points))
    except Unproven as error:
        raise ModelError(
            f"each fix of {path} is right at a few sizes, and all together are not at every gear: {error}",
            fix="leave one out, with --skip, or the gear",
        ) from error


def _opened(path: str) -> Original:
    try:
        return Original(path)
    except Exception as error:  # ONNX Runtime has no family of exceptions
        raise ModelError(
            f"{path} cannot be run, so that no fix can be proven: {first_line(error)}", fix="export the model again"
        ) from error


def _few(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Enough for each fix; all of them are for the end."""
    return points if len(points) <= _FEW else (points[0], points[len(points) // 2], points[-1])


def _tried(
    name: str,
    fix: Callable[[onnx.ModelProto, Case], list[str]],
    candidate: onnx.ModelProto,
    case: Case,
    prove: Callable[..., Proof],
) -> Fixed | None:
    """One fix, made on the candidate and proven."""
    try:
        done = fix(candidate, case)
    except BuildError as error:
        return Fixed(name, (), None, error.message)
    except OSError:  # no fault of the model's
        raise
    except Exception as error:  # onnx has no family of exceptions
        return Fixed(name, (), None, first_line(error))
    if not done:
        return None
    try:
        check_sound(candidate)
        return Fixed(name, tuple(done), prove(candidate, rows=name == "shapes" and any(case.free.values())))
    except (Unproven, onnx.checker.ValidationError) as error:
        return Fixed(name, tuple(done), None, first_line(error))


def _unlift(model: onnx.ModelProto) -> None:
    """Heavy constants, which read_loosely made weights behind an Identity, are weights of their own name."""
    graph = model.graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    outputs = {value.name for value in graph.output}
    kept = []
    for node in graph.node:
        lifted = node.op_type == "Identity" and node.input[0] == f"{node.output[0]}_value" and node.input[0] in tensors
        if lifted and node.output[0] not in outputs:
            tensors[node.input[0]].name = node.output[0]
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
