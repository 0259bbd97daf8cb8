from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import failed, gepipe
from graphs import BAD, GOOD


def test_check_of_a_sound_pipeline(graph: Path) -> None:
    result = gepipe("check", "graph.py")
    assert (result.exit_code, result.stdout) == (
        0,
        "good: x float32[8] -> scores float32[2], labels bytes[2]\nno problem found\n",
    )
    assert "a word of the user's own" in result.stderr  # stdout is for answers


def test_check_says_rule_place_values_and_fix(graph: Path) -> None:
    graph.write_text(BAD, encoding="utf-8")
    result = gepipe("check", "graph.py")
    assert result.exit_code == 1
    assert result.stdout == (
        "pipeline 'good': 3 findings\n"
        "graph.py:11: G05 refused\n"
        "    node 'softmax' (Softmax) leads to no output\n"
        "    fix: use what it makes, name it in pipeline.output, or remove it\n"
        "graph.py:12: G07 refused\n"
        "    output 'scores' is named at graph.py:9 too\n"
        "    fix: give each output a name of its own\n"
        "graph.py:12: G13 refused\n"
        "    node 'top_k_2' (TopK): k is 0\n"
        "    fix: give k a whole number of at least 1\n"
    )


def test_check_as_json_has_the_one_form(graph: Path) -> None:
    result = gepipe("check", "graph.py", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"findings": []})
    graph.write_text(BAD, encoding="utf-8")
    result = gepipe("check", "graph.py", "--json")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)["findings"]
    assert [list(finding) for finding in findings] == [["rule", "severity", "where", "message", "fix"]] * 3
    assert findings[0] == {
        "rule": "G05",
        "severity": "refused",
        "where": "graph.py:11",
        "message": "node 'softmax' (Softmax) leads to no output",
        "fix": "use what it makes, name it in pipeline.output, or remove it",
    }


def test_check_looks_at_the_gears(graph: Path) -> None:
    graph.write_text(GOOD.replace("dense", "one_sample"), encoding="utf-8")
    assert gepipe("check", "graph.py").exit_code == 0
    result = gepipe("check", "graph.py", "--gears", "1,4")
    assert result.exit_code == 1
    assert "graph.py:8: G18 refused" in result.stdout


@pytest.mark.parametrize(
    ("source", "where", "message"),
    [
        ("import ops\nx = (1,\n", "graph.py:2", "SyntaxError: '(' was never closed"),
        ("import ops\n\nimport nump\n", "graph.py:3", "ModuleNotFoundError: No module named 'nump'"),
        ("import ops\nx = 1\ny = x / 0\n", "graph.py:3", "ZeroDivisionError: division by zero"),
        ("import numpy\nnumpy.zeros(3).reshape(2)\n", "graph.py:2", "ValueError: cannot reshape"),
        ("import sys\nsys.exit(3)\n", "graph.py:2", "SystemExit: the file exits (3)"),
        ("from ops import Normalise\n", "graph.py:1", "ImportError: cannot import name 'Normalise'"),
        ("x = '\0'\n", "graph.py", "source code string cannot contain null bytes"),
        ("import ops\nops.Softmax()(5)\n", "graph.py:2", "Softmax, input 1: int is not an edge"),
        ("import ops\n\nops.TensorSpec('float31', (1,))\n", "graph.py:3", "SpecError: 'float31' is not a dtype"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_run_is_a_finding_at_its_line(source: str, where: str, message: str, graph: Path) -> None:
    graph.write_text(source, encoding="utf-8")
    result = gepipe("check", "graph.py", "--json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["rule"], finding["where"]) == ("G24", where)
    assert message in finding["message"]
    for command in ("plan", "run"):
        assert re.search(f"{where}: G24 refused .*{re.escape(message)}", failed(1, command, "graph.py"))


def test_an_error_in_an_imported_file_is_placed_there(graph: Path) -> None:
    (graph.parent / "my_ops.py").write_text("def f():\n    raise OSError('disk')\n", encoding="utf-8")
    graph.write_text("import my_ops\nmy_ops.f()\n", encoding="utf-8")
    assert "my_ops.py:2: G24 refused OSError: disk" in " ".join(gepipe("check", "graph.py").stdout.split())


def test_check_of_a_file_checks_all_its_pipelines(graph: Path) -> None:
    graph.write_text(GOOD + "\nother = Pipeline('other')\n", encoding="utf-8")
    result = gepipe("check", "graph.py")
    assert result.exit_code == 1
    first, second = result.stdout.splitlines()[:2]
    assert (first, second) == ("good: x float32[8] -> scores float32[2], labels bytes[2]", "no problem found")
    assert "pipeline 'other': 2 findings\n" in result.stdout
    findings = json.loads(gepipe("check", "graph.py", "--json").stdout)["findings"]
    assert [finding["rule"] for finding in findings] == ["G08", "G08"]
    assert gepipe("check", "graph.py:other").stdout.startswith("pipeline 'other': 2 findings\n")
