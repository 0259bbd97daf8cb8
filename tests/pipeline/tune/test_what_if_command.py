from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.testing
from click.testing import Result

from pipeline.cli import app

GRAPH = """\
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("good")
x = pipeline.input("x", ops.TensorSpec("float32", (8,)))
pipeline.output(y=Model("weights/dense.onnx")(x))
"""


def plan(*words: str) -> Result:
    return typer.testing.CliRunner().invoke(app, ["plan", *words])


def test_no_pipeline_is_needed() -> None:
    result = plan("--what-if", "streams=8,cores=12|10")
    assert result.exit_code == 0
    assert result.stdout.startswith("MODEL, not a measurement: 8 streams, cores 12|10\n")


def test_as_json() -> None:
    found = json.loads(plan("--what-if", "streams=4", "--json").stdout)
    assert found["from"] == "a timing model, not a measurement"
    assert found["infer_per_sec"] == pytest.approx(489.3, rel=0.15)  # as published
    assert list(found["errors"]) == ["3", "4", "5", "6", "7"]


def test_with_a_pipeline_it_says_what_that_takes_on_the_card(project: Path) -> None:
    (project / "graph.py").write_text(GRAPH, encoding="utf-8")
    words = ("graph.py", "--gears", "1,4", "--what-if", "streams=8")
    assert "'good' would take, served by npu_ge on one card: weights " in plan(*words).stdout
    memory = json.loads(plan(*words, "--json").stdout)["memory"]
    one = json.loads(plan(*words[:-1], "streams=1", "--json").stdout)["memory"]
    assert memory["weights"] == 8 * one["weights"] > 0


def test_measurements_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "card.csv").write_text("streams,infer_per_sec\n1,250\n2,400\n", encoding="utf-8")
    result = plan("--what-if", "streams=3", "--what-if-from", str(tmp_path / "card.csv"))
    assert "\n  500 infer/s, 6.00 ms each; 2.00 times one stream\n" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no pipeline is named"),
        (("--what-if-from", "card.csv"), "--what-if-from answers no question"),
        (("--what-if", "streams=8,cores=6|5"), "the model knows nothing of cores 6|5"),
        (("--what-if", "gears=8"), "'gears=8' is no question"),
    ],
)
def test_what_cannot_be_answered_is_a_wrong_use(words: tuple[str, ...], message: str) -> None:
    result = plan(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "fix: " in result.stderr
