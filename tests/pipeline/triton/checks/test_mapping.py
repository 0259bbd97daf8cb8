from __future__ import annotations

import re
from pathlib import Path

import tiny

from pipeline.triton.lint import lint
from pipeline.triton.repository import export

STEPS = """platform: "ensemble"
input [ { name: "x" data_type: TYPE_UINT8 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling { step [
 { model_name: "first" model_version: -1 input_map { key: "x" value: "x" }
   output_map [ { key: "small" value: "small.edge" }, { key: "large" value: "large.edge" } ] },
 { model_name: "second" model_version: -1 input_map { key: "x" value: "large.edge" }
   output_map { key: "y" value: "y" } } ] }
"""
FIRST = """backend: "python"
input [ { name: "x" data_type: TYPE_UINT8 dims: [ 4 ] } ]
output [ { name: "small" data_type: TYPE_UINT8 dims: [ 4 ] }, { name: "large" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""
SECOND = """backend: "python"
input [ { name: "x" data_type: TYPE_UINT8 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""


def test_a_name_that_another_rule_finds_wrong_is_never_suggested(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(tiny.vector_pipeline(tmp_path).compile(), root)
    config = root / "vector_1_dense" / "config.pbtxt"
    text = config.read_text(encoding="utf-8")
    name = re.findall(r'name: "([^"]+)"', text[text.index("output") :])[0]
    head, behind = text[: text.index("output")], text[text.index("output") :]
    config.write_text(head + behind.replace(f'"{name}"', f'"{name}x"', 1), encoding="utf-8")
    found = {finding.rule: finding for finding in lint(root)}
    assert "V09" in found
    assert found["E32"].fix == "mend the outputs of vector_1_dense (V09), whose file has it"


def test_a_tensor_of_the_wrong_type_brings_the_unread_one_that_fits(tmp_path: Path) -> None:
    for name, text in (("both", STEPS), ("first", FIRST), ("second", SECOND)):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "model.py").write_text("")
        (tmp_path / name / "config.pbtxt").write_text(text)
    (wrong,) = (finding for finding in lint(tmp_path) if finding.rule == "E34")
    assert wrong.fix.startswith("read 'small.edge' instead, which fits and which nothing reads; or ")
