from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.testing
from click.testing import Result

from ops import WrongUse
from pipeline.cli import app
from pipeline.tune.what_if import WhatIf, read_series


def series(folder: Path, text: str) -> Path:
    path = folder / "card.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_it_answers_from_the_published_series_within_15_percent_and_says_that_it_is_a_model() -> None:
    asked = WhatIf.parse("streams=5, cores=12|10")
    assert asked.prediction.infer_per_sec == pytest.approx(773.5, rel=0.15)  # as published
    text = str(asked)
    assert text.startswith("MODEL, not a measurement: 5 streams, cores 12|10\n")
    assert "fitted on: the npu_ge backend's CN_CLIP example" in text
    assert "; streams 1, 2, 8\n" in text
    assert "on streams 3, 4, 5, 6, 7, which it was not fitted on" in text
    assert asked.as_dict()["from"] == "a timing model, not a measurement"


def test_without_cores_there_is_no_lock_and_without_streams_there_is_one() -> None:
    assert WhatIf.parse("streams=8").cores is None
    assert WhatIf.parse("cores=12|10").streams == 1
    assert WhatIf.parse("cores=12|10").of_one_stream == 1


def test_more_streams_than_it_was_fitted_on_are_pointed_out() -> None:
    assert "9 streams is outside of what it was fitted on" in str(WhatIf.parse("streams=9"))
    assert "outside" not in str(WhatIf.parse("streams=8"))


def test_a_series_of_ones_own_is_fitted_whole(tmp_path: Path) -> None:
    rates = {1: 250.0, 2: 400.0, 4: 571.43}  # 3 ms and 1 ms a stream
    text = "streams,cores,infer_per_sec\n" + "".join(f"{n},6|5,{rate}\n" for n, rate in rates.items())
    asked = WhatIf.parse("streams=3,cores=6|5", series(tmp_path, text))
    assert asked.prediction.infer_per_sec == pytest.approx(500, rel=1e-3)
    assert asked.of_one_stream == pytest.approx(2, rel=1e-3)
    assert "streams 1, 2, 4, which it was fitted on" in str(asked)
    assert asked.as_dict()["fitted_on"] == {"source": str(tmp_path / "card.csv"), "streams": (1, 2, 4)}


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("", "'' is no question", "streams=8,cores=12|10"),
        ("8", "'8' is no question", "streams=8,cores=12|10"),
        ("stream=8", "'stream=8' is no question", "did you mean 'streams'?"),
        ("streams=8,streams=4", "'streams=4' is no question", "streams=8,cores=12|10"),
        ("streams=0", "streams is 0", ""),
        ("streams=many", "streams is 'many'", ""),
        ("cores=12", "cores is '12'", "12|10"),
    ],
)
def test_what_is_no_question_is_refused(text: str, message: str, fix: str) -> None:
    with pytest.raises(WrongUse, match=message) as caught:
        WhatIf.parse(text)
    assert fix in caught.value.fix
    assert f"--what-if {text!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the heading has no column infer_per_sec"),
        ("streams,rate\n1,2\n", 1, "the heading has no column infer_per_sec"),
        ("streams,infer_per_sec\n1,100\n0,200\n", 3, "streams is 0"),
        ("streams,infer_per_sec\n1,-100\n", 2, "infer_per_sec is '-100'"),
        ("streams,infer_per_sec\n1,fast\n", 2, "infer_per_sec is 'fast'"),
        ("streams,infer_per_sec\n1\n", 2, "infer_per_sec is ''"),
        ("streams,cores,infer_per_sec\n1,12,100\n", 2, "cores is '12'"),
        ("streams,infer_per_sec\n1,100\n1,101\n", 3, "1 stream with no core lock is there twice"),
    ],
)
def test_what_is_wrong_with_a_series_is_said_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = series(tmp_path, text)
    with pytest.raises(WrongUse, match=message) as caught:
        read_series(path)
    assert caught.value.where == f"{path}:{line}"


def test_a_series_that_is_empty_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="there is nothing below the heading"):
        read_series(series(tmp_path, "streams,infer_per_sec\n"))
    with pytest.raises(WrongUse, match="cannot be read"):
        read_series(tmp_path / "none.csv")


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


def test_the_command_needs_no_pipeline() -> None:
    result = plan("--what-if", "streams=8,cores=12|10")
    assert result.exit_code == 0
    assert result.stdout.startswith("MODEL, not a measurement: 8 streams, cores 12|10\n")


def test_the_command_prints_json() -> None:
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


def test_the_command_takes_measurements_of_ones_own(tmp_path: Path) -> None:
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
