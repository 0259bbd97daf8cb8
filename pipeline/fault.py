"""Fault: what an op raised while it was looked at, as a finding."""

from __future__ import annotations

import dataclasses
import os
import traceback
from typing import Any

from ge_engine.model import Model
from ops import ModelError, Op, SpecError, Where
from ops.where import absolute

from .report import Report


def add_fault(
    report: Report, index: int, error: Exception | SystemExit, *, graded: bool = False, fix: str = ""
) -> None:
    """G10 to G15 and G19 for what an op refuses, G23 for a user's op that failed.

    graded: the input at fault comes in several sizes. fix: a better one than a SpecError's own.
    """
    op, where, place = report.nodes[index].op, report.nodes[index].where, report.place(index)
    if isinstance(error, SpecError):
        rule = error.rule or ("G13" if not error.input else "G19" if graded else "G12")
        at = f", input {error.input}" if error.input else ""
        report.add(rule, where, f"{place}{at}: {error.message}", fix or error.fix)
    elif isinstance(error, ModelError):
        rule = "G14" if isinstance(op, Model) and not os.path.exists(op.file) else "G15"
        report.add(rule, where, f"{place}: {error.message}", error.fix)
    elif (package := type(op).__module__.partition(".")[0]) in ("ops", "ge_engine"):
        message = f"{place} cannot use {_attributes(op)}: {type(error).__name__}: {error}"
        fix = f"give the attributes the types that help({package}.{type(op).__name__}) shows"
        report.add("G13", where, message, fix)
    else:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = Where(absolute(frame.filename), frame.lineno or 0)
        message = f"{place}: {type(error).__name__} at {line}: {error}"
        report.add("G23", where, message, f"mend {type(op).__name__}.infer: TensorSpecs in, a TensorSpec an output out")


def _attributes(op: Op[Any]) -> str:
    assert dataclasses.is_dataclass(op)
    return ", ".join(f"{field.name}={getattr(op, field.name)!r}" for field in dataclasses.fields(op))
