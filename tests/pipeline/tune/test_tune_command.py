from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import typer.testing
from acl_sim import World
from click.testing import Result

from ge_engine.devices.ascend import library
from pipeline import Deployment
from pipeline.cli import app
from pipeline.triton import commands
from pipeline.tune import tune_command

assert commands, tune_command  # they register their commands

GRAPH = """\
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("good")
x = pipeline.input("x", ops.TensorSpec("float32", (8,)))
pipeline.output(y=Model("weights/dense.onnx")(x))

bare = Pipeline("bare")
bare.output(y=ops.Softmax()(bare.input("x", ops.TensorSpec("float32", (8,)))))
"""
PICTURE = """\
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("picture")
pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
image = ops.Resize(height=8, width=8)(pixels)
pipeline.output(y=Model("picture.onnx")(ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)))
"""
ROOT = Path(__file__).parents[3]
QUICK = ("--seconds", "0.002")


@pytest.fixture(autouse=True)
def graph(project: Path) -> Path:
    path = project / "graph.py"
    path.write_text(GRAPH, encoding="utf-8")
    return path


def gepipe(*words: str) -> Result:
    return typer.testing.CliRunner().invoke(app, list(words))


def tune(*words: str) -> Result:
    return gepipe("tune", "graph.py", *QUICK, *words)


def found(*words: str) -> dict[str, Any]:
    result = tune("--json", *words)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_it_prints_the_candidates_the_choice_and_its_settings() -> None:
    result = tune("--largest", "4")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("good on cpu, for the most samples a second; traffic: unknown")
    assert "samples/s" in result.stdout
    settings = Deployment.from_json(result.stdout[result.stdout.index("{") :])
    assert settings.threads is not None
    assert "gear 4, streams " in result.stderr


def test_no_more_than_a_fifth_of_the_candidates_is_measured() -> None:
    document = found()
    assert 0 < len(document["tried"]) <= 0.2 * document["candidates"]


def test_the_choice_is_written_and_other_commands_take_it(tmp_path: Path) -> None:
    file = str(tmp_path / "deployment.json")
    result = tune("--histogram", "1:500,2:120,4:40", "-o", file)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.endswith(f"the choice is in {file}\n")
    settings = Deployment.from_json(Path(file).read_text(encoding="utf-8"))
    plan = json.loads(gepipe("plan", "graph.py:pipeline", "--deployment", file, "--json").stdout)
    gears = ",".join(map(str, settings.gears_of("dense")))
    assert {row["gears"] for row in plan["rows"]} == {"", gears}
    assert gepipe("run", "graph.py", "--deployment", file, "-i", "x=[1,2,3,4,5,6,7,8]").exit_code == 0
    exported = gepipe("export", "graph.py", "--deployment", file, "-o", str(tmp_path / "models"))
    assert exported.exit_code == 0, exported.stderr


def test_settings_that_it_does_not_choose_stay(tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text('{"precision": "fp16", "streams": 7, "exact": true}', encoding="utf-8")
    chosen = found("--largest", "2", "--deployment", str(tmp_path / "base.json"))["deployment"]
    assert (chosen["precision"], chosen["exact"]) == ("fp16", True)


def test_a_histogram_decides_which_gears_are_candidates() -> None:
    document = found("--histogram", "2:10,3:5,40:1", "--device", "null")
    assert {point["gear"] for point in document["tried"]} <= {1, 2, 3, 8, 16}  # 40 is 16 + 16 + 8
    assert set(document["deployment"]["gears"]) <= {1, 2, 3, 8, 16}
    chosen = document["deployment"]["gears"]
    wastes = [gears["pad_waste"] for gears in document["gear_sets"] if gears["gears"] != chosen]
    assert wastes == sorted(wastes, reverse=True)


def test_a_log_decides_how_long_to_wait(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time_s\n" + "".join(f"{second}\n" for second in range(40)), encoding="utf-8")
    document = found("--traffic", str(log), "--largest", "4", "--latency-ms", "1000")
    assert document["traffic"] == str(log)
    assert document["limit_us"] == 1e6
    assert document["chosen"]["batches"] == {"1": 40}
    assert document["deployment"]["gears"] == [1]


def test_on_a_device_of_its_own_the_core_locks_are_tried_that_are_named() -> None:
    document = found("--device", "null", "--cores", "12|10,6|5", "--largest", "2")
    assert document["candidates"] == 2 * 8 * 3
    assert {point["cores"] for point in document["tried"]} == {None, "12|10", "6|5"}
    assert document["deployment"]["threads"] is None


def test_a_model_whose_rows_mix_is_tuned_one_sample_at_a_time(graph: Path) -> None:
    graph.write_text(GRAPH.replace("weights/dense", tiny.mixing_model(graph.parent).stem), encoding="utf-8")
    assert found("--device", "null", "--histogram", "4:10")["deployment"]["gears"] == [1]


def test_a_limit_that_is_too_low_is_an_error_with_both_values() -> None:
    result = tune("--largest", "1", "--latency-ms", "0.000001")
    assert result.exit_code == 1
    assert " ms at least, and 1e-06 ms are asked for" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--traffic", "log.csv", "--histogram", "1:2"), "--traffic and --histogram are both given"),
        (("--traffic", "none.csv"), "none.csv cannot be read"),
        (("--histogram", "1"), "is no size and count"),
        (("--latency-ms", "0"), "--latency-ms is 0"),
        (("--latency-ms", "nan"), "--latency-ms is nan"),
        (("--device", "gpu"), "there is no device 'gpu'"),
        (("--cores", "12|10"), "--cores is for an NPU"),
        (("--device", "null", "--cores", "12"), "--cores: cores is '12'"),
        (("--device", "null", "--cores", "6|5,6|5"), "name each lock once"),
        (("-o", "nowhere/file.json"), "nowhere is no folder"),
        (("-o", "weights"), "weights is no file"),
        (("-i", "y=[1]"), "there is no input 'y'"),
    ],
)
def test_what_cannot_be_tuned_is_a_wrong_use(words: tuple[str, ...], message: str) -> None:
    result = tune(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "fix: " in result.stderr


def test_a_pipeline_without_a_device_stage_has_nothing_to_tune() -> None:
    result = gepipe("tune", "graph.py:bare")
    assert result.exit_code == 2
    assert "pipeline 'bare' has no device stage" in result.stderr


def test_what_the_host_does_is_measured_on_random_data_or_on_the_sample_that_is_given(graph: Path) -> None:
    for words in ((), ("-i", "x=[1,2,3,4,5,6,7,8]")):
        host = found("--device", "null", "--largest", "2", *words)["host"]
        assert host["before_us"] > 0
        assert not host["shared"]
        assert host["most_per_sec"] == pytest.approx(host["cores"] * 1e6 / (host["before_us"] + host["after_us"]))


def test_where_random_data_will_not_do_the_host_is_not_measured_and_it_says_how_it_would_be(graph: Path) -> None:
    tiny.picture_model(graph.parent)
    graph.write_text(PICTURE, encoding="utf-8")
    result = tune("--largest", "1")
    assert result.exit_code == 0, result.stderr
    assert "host: random data will not do: " in result.stderr
    assert "host: not measured, so what it does to a sample comes on top" in " ".join(result.stdout.split())


def test_a_sample_that_the_pipeline_refuses_is_an_error(graph: Path) -> None:
    tiny.picture_model(graph.parent)
    graph.write_text(PICTURE, encoding="utf-8")
    result = tune("--largest", "1", "-i", "image=no picture")
    assert result.exit_code == 1
    assert result.stderr.startswith("DecodeError: ")


def test_a_choice_that_cannot_be_written_is_printed(graph: Path) -> None:
    name = "x" * 250  # a file may be called so, but not the one that is to replace it
    result = tune("--largest", "1", "--json", "-o", str(graph.parent / name))
    assert result.exit_code == 1
    assert " cannot be written: " in result.stderr
    assert '"threads": ' in result.stderr
    assert json.loads(result.stdout)["deployment"]["gears"] == [1]


def test_killed_in_the_middle_it_leaves_nothing_half_written(graph: Path) -> None:
    (graph.parent / "tuned.json").write_text("as before", encoding="utf-8")
    before = sorted(graph.parent.iterdir())
    command = [sys.executable, "-c", "from pipeline.cli import main; main()", "tune", "graph.py", "-o", "tuned.json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=graph.parent, env=environment) as process:
        assert process.stderr is not None
        assert any(line.startswith("gear ") for line in process.stderr)
        process.kill()
    assert (graph.parent / "tuned.json").read_text(encoding="utf-8") == "as before"
    assert sorted(graph.parent.iterdir()) == before


def test_more_streams_may_be_asked_for_or_fewer() -> None:
    assert found("--device", "null", "--largest", "1", "--streams", "20")["candidates"] == 12
    assert found("--device", "null", "--largest", "1", "--streams", "2")["candidates"] == 2


def test_on_a_card_three_quarters_and_half_of_its_cores_are_tried_by_default(npu: Callable[..., World]) -> None:
    library.finalize()
    npu(soc="Ascend910B4")
    try:
        locks = {point["cores"] for point in found("--device", "npu:0", "--histogram", "1:5")["tried"]}
        assert locks == {None, "15|30", "10|20"}  # of 20 and 40
        none = found("--device", "npu:0", "--histogram", "1:5", "--cores", "none")
        assert {point["cores"] for point in none["tried"]} == {None}
    finally:
        library.finalize()


def test_on_a_card_each_core_lock_is_compiled_and_nothing_is_left(npu: Callable[..., World]) -> None:
    library.finalize()
    world = npu()
    try:
        document = found("--device", "npu:0", "--cores", "12|10", "--histogram", "1:5,2:5")
        assert {point["cores"] for point in document["tried"]} == {None, "12|10"}
        assert document["candidates"] == 2 * 8 * 2
        assert not world.violations
    finally:
        library.finalize()
