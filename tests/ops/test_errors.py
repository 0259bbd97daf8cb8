from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import ops.errors
from ops import Finding, GepipeError, SpecError, TensorSpec, ValidationError


def family() -> list[type[Any]]:
    kinds = [value for value in vars(ops.errors).values() if isinstance(value, type) and issubclass(value, GepipeError)]
    return [kind for kind in kinds if kind is not ValidationError]


@pytest.mark.parametrize("kind", family())
def test_every_error_comes_back_whole_from_a_worker_process(kind: type[Any]) -> None:
    error = kind("too large", fix="make it smaller", where="graph.py:3")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, "graph.py:3: too large\nfix: make it smaller", vars(error))


def test_a_spec_error_and_a_report_keep_what_they_hold() -> None:
    error = SpecError("no", input="x", rule="G10", wanted=TensorSpec("uint8", (1,)))
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)
    report = ValidationError("pipeline 'p'", [Finding("G01", "refused", "graph.py:1", "twice", "once")])
    for again in (pickle.loads(pickle.dumps(report)), copy.copy(report)):
        assert (again.findings, str(again)) == (report.findings, str(report))
