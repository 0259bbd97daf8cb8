from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import failed, gepipe
from graphs import BAD, GOOD

from pipeline import measure_costs


def test_plan_explains_the_pipeline(graph: Path) -> None:
    result = gepipe("plan", "graph.py", "--gears", "1,2")
    assert result.exit_code == 0
    for word in ("dense", "device", "gears 1,2", "TopK", "float32[8]", "bytes[2]"):
        assert word in result.stdout


def test_plan_as_json(graph: Path) -> None:
    document = json.loads(gepipe("plan", "graph.py", "--json").stdout)
    assert list(document) == ["rows", "changes", "findings"]
    row = next(row for row in document["rows"] if row["key"] == "y")
    assert (row["op"], row["dtype"], row["shape"], row["placement"], row["nbytes"]) == (
        "Model", "float32", "[4]", "device", 16
    )  # fmt: skip


def test_plan_as_json_says_what_the_passes_changed(graph: Path) -> None:
    text = GOOD.replace(')(Model("weights/dense.onnx")(x))', ')(ops.Softmax()(Model("weights/dense.onnx")(x)))')
    graph.write_text(text, encoding="utf-8")
    (change,) = json.loads(gepipe("plan", "graph.py", "--json").stdout)["changes"]
    assert change["where"].endswith("graph.py:8")
    assert {name: change[name] for name in ("rule", "node", "saved", "exactness")} == {
        "rule": "place",
        "node": "softmax",
        "saved": 0,
        "exactness": "within 1e-06 of the largest value",
    }


def test_plan_can_measure_the_machine_first(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(graph.parent / "cache"))
    monkeypatch.setattr(measure_costs, "_SPAN_S", 0.002)
    result = gepipe("plan", "graph.py", "--measure")
    assert result.exit_code == 0
    table = graph.parent / "cache" / "costs.json"
    assert f"the cost table of this machine is in {table}\n" in result.stderr
    unused = "this plan is placed for npu_ge; the table is used with model_backend='onnxruntime'\n"
    assert unused in result.stderr
    table.unlink()
    (graph.parent / "on_cpu.json").write_text('{"model_backend": "onnxruntime"}', encoding="utf-8")
    result = gepipe("plan", "graph.py", "--measure", "--deployment", "on_cpu.json")
    assert result.exit_code == 0
    assert unused not in result.stderr
    assert table.exists()


def test_plan_and_run_report_findings_on_stderr(graph: Path) -> None:
    graph.write_text(BAD, encoding="utf-8")
    for command in ("plan", "run"):
        said = failed(1, command, "graph.py")
        assert "pipeline 'good': 3 findings" in said
        assert "graph.py:11: G05 refused" in said
