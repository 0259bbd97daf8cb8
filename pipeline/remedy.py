"""Remedy: what to do about a refused input, by what else is in the pipeline. Each has been tried on the op itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ops import NMS, Normalize, Op, SpecError, TensorSpec, TopK, YoloBoxes

from .declaration import Input, Node, Ref
from .report import Report
from .wiring import Edges

_BEHIND_MODELS = (NMS, TopK, YoloBoxes)  # what they read is easily taken for another value

Given = Mapping[str, TensorSpec]
Known = Mapping[Ref, TensorSpec]


def remedy(report: Report, edges: Edges, specs: Known, index: int, given: Given, error: SpecError) -> str:
    """What to do about an op's error; its own fix where the pipeline gives no better one.

    given: the specs that the op was asked with.
    """
    ref, op = edges[index].get(error.input), report.nodes[index].op
    if ref is None:
        return error.fix
    entry, spec = report.entries[ref[0]], specs[ref]
    if isinstance(op, _BEHIND_MODELS):
        fitting = [other for other in _values(report, specs) if _takes(op, given, error.input, specs[other])]
        if len(fitting) == 1:
            return f"pass {_said(report, fitting[0])}, the one value before it that fits; or {error.fix}"
    if isinstance(entry, Input) and spec.shape and (spec.shape[0] == 1 or isinstance(spec.shape[0], str)):
        sample = TensorSpec(spec.dtype, spec.shape[1:]) if spec.rank > 1 else None
        if sample is not None and _takes(op, given, error.input, sample):
            dims = ",".join(str(dim) for dim in sample.shape)
            return f"leave out the batch at {entry.where}: ({dims}{',' if sample.rank == 1 else ''})"
    if isinstance(entry, Node) and isinstance(entry.op, Normalize):
        (pixels,) = edges[ref[0]].values()
        moved = _result(op, {**given, error.input: specs[pixels]}) if pixels is not None else None
        if isinstance(moved, TensorSpec) and _takes(entry.op, {"image": moved}, "image", moved):
            name = type(op).__name__
            return f"swap the two: {name} reads pixels, so it stands before {report.place(ref[0])} at {entry.where}"
    return error.fix


def _values(report: Report, specs: Known) -> Iterator[Ref]:
    """Every value that is known, once; what is known before a node does not depend on it."""
    for index, output in specs:
        entry = report.entries[index]
        if output in (entry.op.output_names if isinstance(entry, Node) else ("",)):
            yield index, output


def _said(report: Report, ref: Ref) -> str:
    of = f"output '{ref[1]}' of " if ref[1] else ""
    return f"{of}{report.place(ref[0])} at {report.entries[ref[0]].where}"


def _takes(op: Op[Any], given: Given, name: str, spec: TensorSpec) -> bool:
    """Whether an op takes that spec for an input, whatever it says of the others."""
    result = _result(op, {**given, name: spec})
    return result.input not in ("", name) if isinstance(result, SpecError) else result is not None


def _result(op: Op[Any], given: Given) -> Any:
    """What infer makes, the first of several, or its SpecError; None where it fails."""
    try:
        made = op.infer(*given.values())
    except SpecError as error:
        return error
    except (Exception, SystemExit):  # a user's op, asked with what it was not made for
        return None
    return made[0] if isinstance(made, tuple) else made
