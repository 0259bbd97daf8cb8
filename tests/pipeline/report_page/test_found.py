from __future__ import annotations

from pathlib import Path

import tiny

from ge_engine import Model
from pipeline import Pipeline
from pipeline.report_page.found import all_findings


def test_a_clean_pipeline_has_three_clean_lists(tmp_path: Path) -> None:
    found = all_findings(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)), None)
    assert list(found) == ["The pipeline", "The model dense", "An export of it"]
    assert not any(found.values())


def test_what_lint_says_of_an_export_names_the_file_in_it(tmp_path: Path) -> None:
    found = all_findings(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), dump_data=True), None)
    (finding,) = found["An export of it"]
    assert finding.rule == "V23"
    assert finding.where.startswith("vector_1_dense/config.pbtxt:")


def test_a_finding_in_a_model_does_not_say_where_its_folder_is(tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    folder.mkdir()
    pipeline = Pipeline("mixing")
    pipeline.output(y=Model(tiny.mixing_model(folder))(pipeline.input("x", tiny.VECTOR)))
    found = all_findings(pipeline.compile(), None)["The model mixing"]
    assert "gepipe inspect mixing.onnx --at x.1=8 --fix -o mixing_mended.onnx" in found[0].fix
    assert not any("secret" in text for one in found for text in (one.where, one.message, one.fix))


def test_a_plan_that_cannot_be_exported_is_a_finding_not_an_error(tmp_path: Path) -> None:
    found = all_findings(tiny.vector_pipeline(tmp_path).compile(gears=(1, 32)), None)
    (finding,) = found["An export of it"]
    assert (finding.rule, finding.severity) == ("export", "refused")
    assert "32 gears" in finding.message


def test_a_model_is_looked_at_in_the_sizes_that_its_op_emits(tmp_path: Path) -> None:
    found = all_findings(tiny.sized_pipeline(tmp_path).compile(), None)
    assert not [one for one in found["The model picture"] if one.rule == "inspect" or "size" in one.message]
