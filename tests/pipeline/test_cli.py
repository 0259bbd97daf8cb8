from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from command_line import failed, gepipe
from graphs import BAD, GOOD, VECTOR

from pipeline import measure_costs
from pipeline.rules import RULES

PICTURE = """\
import ops
from pipeline import Pipeline

pipeline = Pipeline("picture")
data = pipeline.input("image", ops.ENCODED_IMAGE)
pipeline.output(small=ops.Resize(height=2, width=2)(ops.DecodeImage(color="RGB")(data)))
"""


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


def test_run_takes_json_text_and_files(graph: Path) -> None:
    folder = graph.parent
    np.save(folder / "x.npy", np.arange(1, 9, dtype=np.float32))
    (folder / "x.json").write_text(VECTOR, encoding="utf-8")
    answers = []
    for value in (VECTOR, "@x.npy", "@x.json"):
        result = gepipe("run", "graph.py", "--json", "-i", f"x={value}")
        assert result.exit_code == 0
        answers.append(json.loads(result.stdout))
    assert answers[0] == answers[1] == answers[2]
    assert list(answers[0]) == ["scores", "labels"]
    assert set(answers[0]["labels"]) < {"猫", "狗", "鸟", "鱼"}
    assert "猫" in result.stdout or "狗" in result.stdout or "鸟" in result.stdout or "鱼" in result.stdout


def test_run_shows_where_the_time_went_beside_the_answer(graph: Path) -> None:
    result = gepipe("run", "graph.py", "--json", "--stats", "-i", f"x={VECTOR}")
    assert list(json.loads(result.stdout)) == ["scores", "labels"]
    assert "good on cpu: 1 request: 1 answered, 0 failed; 1 sample answered" in result.stderr
    assert re.search(r"^  run +1 +\d+\.\d{3} ", result.stderr, re.MULTILINE)


def test_run_writes_a_trace_also_of_what_fails(graph: Path) -> None:
    assert gepipe("run", "graph.py", "--trace", "t.json", "-i", f"x={VECTOR}").exit_code == 0
    assert json.loads((graph.parent / "t.json").read_text())["traceEvents"]
    failed(1, "run", "graph.py", "--trace", "bad.json", "-i", "x=[1,2]")
    assert "wanted float32[8]" in (graph.parent / "bad.json").read_text()
    said = failed(2, "run", "graph.py", "--trace", "absent/t.json", "-i", f"x={VECTOR}")
    assert "absent/t.json cannot be written" in said


def test_run_for_people(graph: Path) -> None:
    result = gepipe("run", "graph.py", "-i", f"x={VECTOR}", "--gears", "1,2")
    assert result.exit_code == 0
    assert "scores  float32[2]" in result.stdout


def test_run_on_a_bad_sample_says_why(graph: Path) -> None:
    said = failed(1, "run", "graph.py", "-i", "x=[1,2]")
    assert "SampleError: input 'x' (graph.py:7): float32[2], wanted float32[8]" in said
    graph.write_text(PICTURE, encoding="utf-8")
    (graph.parent / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    said = failed(1, "run", "graph.py", "-i", "image=@bad.jpg")
    assert "DecodeError: node 'decode_image' (DecodeImage, graph.py:6):" in said
    assert "fix:" in said


def test_run_on_a_file_of_bytes(graph: Path) -> None:
    graph.write_text(PICTURE, encoding="utf-8")
    cv2.imwrite(str(graph.parent / "white.png"), np.full((4, 4, 3), 255, np.uint8))
    result = gepipe("run", "graph.py", "--json", "-i", "image=@white.png")
    assert json.loads(result.stdout) == {"small": [[[255] * 3] * 2] * 2}


def test_rule_explains_one_or_lists_all() -> None:
    result = gepipe("rule", "g04")
    assert result.exit_code == 0
    for text in ("G04", RULES["G04"].title, "bad:", "good:"):
        assert text in result.stdout
    listed = gepipe("rule").stdout
    assert all(rule in listed for rule in RULES)
    assert json.loads(gepipe("rule", "G04", "--json").stdout) == {"rules": [vars(RULES["G04"])]}


def test_doctor_finds_this_installation_sound() -> None:
    result = gepipe("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert {"python", "numpy", "opencv", "ops", "device cpu", "device null"} <= set(checks)
    assert checks["device cpu"]["seen"] == "2 + 2 = 4"
    assert result.exit_code == (0 if all(check["ok"] for check in checks.values()) else 1)
    assert "2 + 2 = 4" in gepipe("doctor").stdout


def test_the_command_line_imports_nothing_posix_only(project: Path) -> None:
    absent = ("fcntl", "termios", "pwd", "grp", "resource", "pty", "tty")
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import pipeline.cli"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
