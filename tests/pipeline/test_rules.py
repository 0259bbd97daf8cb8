from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_engine
import ops
import pipeline as package
from ge_engine import Model
from ops import Edge, Finding, TensorSpec, ValidationError
from pipeline import Pipeline
from pipeline.declaration import Node
from pipeline.load import _broken
from pipeline.rules import RULES

INPUTS = {
    "x": TensorSpec("float32", (8,)),
    "image": TensorSpec("uint8", (640, 640, 3)),
    "pixels": TensorSpec("uint8", ("H", "W", 3)),
}
# Their lines are no Python that could run here; the tests of what finds them show them.
NOT_RUN = {"G04", "G51", "G55", "G56", "G57", "G58", "G59"}
BUILT = {"G50", "G52", "G53", "G54"}  # found when the plan is compiled


class Names(dict[str, Any]):
    """The names that a rule's lines may use; an input is declared when it is first read."""

    def __missing__(self, name: str) -> Any:
        if name not in INPUTS:
            raise KeyError(name)
        self[name] = self["pipeline"].input(name, INPUTS[name])
        return self[name]


def findings_of(lines: str, compiled: bool) -> list[Finding]:
    names = Names(pipeline=Pipeline("example"))
    scope = {
        "__name__": "example",
        "dataclass": dataclass,
        "np": np,
        "ops": ops,
        "Model": Model,
        "Pipeline": Pipeline,
        "spec": INPUTS["x"],
    }
    try:
        exec(compile(lines, "example.py", "exec", dont_inherit=True), scope, names)
        pipeline: Pipeline = names["pipeline"]
        if not pipeline.declaration.outputs:
            entries = pipeline.declaration.entries
            nodes = [entry for entry in entries if isinstance(entry, Node)]
            read = {ref[0] for node in nodes for ref in (*node.inputs, *node.named.values()) if ref is not None}
            pipeline.output(**{f"out{i}": Edge(pipeline, i) for i in range(len(entries)) if i not in read})
        return list(pipeline.compile().findings if compiled else pipeline.validate().advice)
    except ValidationError as error:
        return list(error.findings)
    except ImportError as error:
        return [_broken(error, "example.py")]


@pytest.mark.parametrize("rule", sorted(set(RULES) - NOT_RUN))
def test_the_bad_lines_break_their_rule_only_and_the_good_ones_none(rule: str, project: Path) -> None:
    bad = findings_of(RULES[rule].bad, rule in BUILT)
    assert {finding.rule for finding in bad} == {rule}
    assert findings_of(RULES[rule].good, rule in BUILT) == []


def test_every_rule_that_the_source_names_is_in_the_book_and_no_other() -> None:
    named: set[str] = set()
    for package_ in (package, ge_engine, ops):
        for path in Path(str(package_.__file__)).parent.rglob("*.py"):
            if path.name != "rules.py":
                named |= set(re.findall(r'"(G\d\d)"', path.read_text(encoding="utf-8")))
    assert named == set(RULES)


def test_every_rule_says_why_and_how() -> None:
    for rule in RULES.values():
        assert re.fullmatch(r"G\d\d", rule.id)
        assert rule.title[0].islower()
        assert not rule.title.endswith(".")
        assert rule.why.endswith(".")
        assert rule.bad
        assert rule.good
        assert rule.bad != rule.good
    assert list(RULES) == sorted(RULES)
