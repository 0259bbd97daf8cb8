"""`gepipe bench` on a pipeline; on a server see triton/test_bench_server.py."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import command_line
import numpy as np
import pytest
import tiny
from click.testing import Result

from ops import WrongUse

QUICK = ("--window-s", "0.05", "--max-windows", "3", "--stability", "9")
GRAPH = """import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("vector")
x = pipeline.input("x", ops.TensorSpec("float32", (8,)))
y = Model("dense.onnx")(x)
pipeline.output(y=y)
"""


def gepipe(*words: str) -> Result:
    return command_line.gepipe("bench", *words, COLUMNS="120")


@pytest.fixture
def graph(tmp_path: Path) -> str:
    tiny.vector_model(tmp_path)
    (tmp_path / "graph.py").write_text(GRAPH)
    return str(tmp_path / "graph.py")


def test_a_pipeline_is_measured_in_this_process(graph: str, tmp_path: Path) -> None:
    files = ("--json", str(tmp_path / "b.json"), "--csv", str(tmp_path / "b.csv"))
    result = gepipe(graph, "--concurrency", "1,3", "--gears", "1,2,4", "--streams", "2", *QUICK, *files)
    assert result.exit_code == 0, result.output
    assert "vector at cpu, in this process" in result.output
    assert "where a request spends its time, as the session counts it:" in result.output
    levels = json.loads((tmp_path / "b.json").read_text())["levels"]
    assert [level["concurrency"] for level in levels] == [1, 3]
    assert list(levels[0]["models"]) == ["vector", "vector_1_dense"]
    assert levels[0]["models"]["vector_1_dense"]["instances"] == 2
    assert levels[0]["models"]["vector_1_dense"]["compute_infer_us"] > 0
    with (tmp_path / "b.csv").open() as file:
        assert [row["concurrency"] for row in csv.DictReader(file)] == ["1", "3"]


def test_the_same_columns_as_of_a_server(graph: str) -> None:
    output = gepipe(graph, *QUICK).output
    for heading in ("clients", "infer/s", "avg us", "p50 us", "p90 us", "p95 us", "p99 us", "queue us", "input us"):
        assert heading in output
    assert "infer us" in output
    assert "output us" in output
    assert "model, batches x size" in output


def test_the_user_s_own_value_is_sent(graph: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(8, np.float32))
    assert gepipe(graph, "-i", f"x=@{tmp_path / 'x.npy'}", *QUICK).exit_code == 0
    result = gepipe(graph, "-i", "x=[1, 2]", *QUICK)
    assert result.exit_code == 2
    assert "refuses a trial request" in result.output


def test_golden_requests_of_an_export_are_sent(graph: str, tmp_path: Path) -> None:
    exported = command_line.gepipe("export", graph, "-o", str(tmp_path / "models"), "--gears", "1,2")
    assert exported.exit_code == 0, exported.output
    assert gepipe(graph, "--golden", str(tmp_path / "models"), *QUICK).exit_code == 0


def test_the_null_device_can_be_measured(graph: str) -> None:
    output = gepipe(graph, "--device", "null", *QUICK).output
    assert "vector at null, in this process" in output
    assert "CPU: cores that this process kept busy" in " ".join(output.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["127.0.0.1:8001"], "which model of 127.0.0.1:8001?"),
        (["127.0.0.1:8001", "-m", "a", "--gears", "1,2"], "a server has its own settings"),
        (["GRAPH", "-i", "x=[1]", "--golden", "models"], "-i and --golden are both given"),
        (["GRAPH", "--concurrency", "0"], "'0' is no number of clients"),
        (["GRAPH", "--device", "tpu"], "tpu"),
    ],
)
def test_wrong_use(graph: str, words: list[str], message: str) -> None:
    result = gepipe(*(graph if word == "GRAPH" else word for word in words))
    assert result.exit_code == 2
    assert message in result.output
    assert WrongUse.__name__ in result.output
