"""Each remedy is something that is left to do, and the command that it names does away with the problem."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import model_zoo
import numpy as np
import pytest
from command_line import gepipe
from onnx_files import node, save, tensor

from ge_engine.inspect import facts_of
from pipeline.inspect.judge import judge

ENDS = [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))]
DOUBLES = [tensor("x", ("batch", 4), np.float64)], [tensor("y", ("batch", 4), np.float64)]
PROBLEMS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "an operator without a parser": (lambda p: save(p, [node("Gelu", ["x"], ["y"])], *ENDS, opset=20), "V24"),
    "an opset that is not documented": (lambda p: save(p, [node("Neg", ["x"], ["y"])], *ENDS, opset=20), "V24"),
    "a type that nobody reads": (lambda p: save(p, [node("Neg", ["x"], ["y"])], *DOUBLES), "V10"),
    "a scalar": (
        lambda p: save(
            p,
            [node("Neg", ["x"], ["y"]), node("ReduceSum", ["x"], ["sum"], keepdims=0)],
            ENDS[0],
            [*ENDS[1], tensor("sum", ())],
        ),
        "V11",
    ),
    "a batch that is fixed by its declaration": (lambda p: model_zoo.picture(p, (1, 3, 32, 32)) or p, "G52"),
    "an example's sizes": (lambda p: model_zoo.picture(p, (10, 3, 32, 32)) or p, "I02"),
    "a wrong size of an output": (
        lambda p: save(
            p, [node("Transpose", ["x"], ["y"], perm=[0, 2, 1])], [tensor("x", ("n", 2, 3))], [tensor("y", ("n", 3, 5))]
        ),
        "I02",
    ),
    "an output that is an input": (
        lambda p: save(p, [node("Neg", ["x"], ["y"])], ENDS[0], [*ENDS[1], tensor("x", ("batch", 4))]),
        "I03",
    ),
    "an axis without a name": (
        lambda p: save(p, [node("Neg", ["x"], ["y"])], [tensor("x", (None, 4))], [tensor("y", (None, 4))]),
        "I04",
    ),
    "a node that leads nowhere": (
        lambda p: save(p, [node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["z"])], *ENDS),
        "I07",
    ),
    "what a size makes constant": (lambda p: model_zoo.mod_of_the_width(p), "I05"),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_the_command_of_a_remedy_does_away_with_the_problem(case: str, tmp_path: Path) -> None:
    write, rule = PROBLEMS[case]
    path = write(tmp_path / "my model.onnx")
    sizes = ({"width": 8},) if rule == "I05" else ()
    fixes = [finding.fix for finding in judge(facts_of(str(path), (1,), sizes)) if finding.rule == rule]
    by_hand, _, command = fixes[0].partition("; or gepipe ")
    assert by_hand
    result = gepipe(*shlex.split(command), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["mended"]["findings"] == []
    assert (tmp_path / "my model_mended.onnx").exists()


def test_what_fix_has_tried_is_no_remedy_any_more(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], [tensor("x", (None, 4))], [tensor("y", (None, 4))])
    facts = facts_of(str(path))
    (before,) = judge(facts)
    (mended,) = judge(facts, tried={})
    (failed,) = judge(facts, tried={"names": "it gives other answers"})
    assert before.fix == f"{mended.fix}; or gepipe inspect {path} --fix -o {tmp_path / 'm_mended.onnx'}"
    assert failed.fix == f"{mended.fix}; --fix did not do it: it gives other answers"


def test_what_several_sizes_fold_is_not_what_fix_folds(tmp_path: Path) -> None:
    path = model_zoo.mod_of_the_width(tmp_path / "m.onnx")
    findings = judge(facts_of(str(path), (1,), ({"width": 8}, {"width": 16})))
    (finding,) = (finding for finding in findings if finding.rule == "I05")
    assert finding.fix.endswith("which folds that in each gear; --fix does it in the file, for one --at")
