from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import model_zoo
import numpy as np
import pytest

import ops
from ge_engine import Model
from ops import SpecError, TensorSpec, ValidationError
from pipeline import Graph, Pipeline
from pipeline.graph_json import graph_from_json, graph_to_json

VECTOR = TensorSpec("float32", (8,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_zoo.write_models(tmp_path_factory.mktemp("json"))


@pytest.fixture(scope="module")
def graph(folder: Path) -> Graph:
    """All that a graph can hold: several inputs, outputs, constants, a model, files, an op with several outputs."""
    (folder / "labels.txt").write_text("猫\n狗\n鸟\n鱼\n", encoding="utf-8")
    pipeline = Pipeline("all")
    image = pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    x = pipeline.input("x", VECTOR)
    rows = pipeline.constant("rows", np.arange(16, dtype=np.float32).reshape(2, 8))
    framed, transform = ops.Letterbox(sizes=((64, 64), (32, 64)))(image)
    heads = Model(folder / "weights" / "heads.onnx")(x)
    ranking = ops.TopK(k=2, labels=str(folder / "labels.txt"))(Model(folder / "weights" / "dense.onnx")(heads["high"]))
    pipeline.output(framed=framed, transform=transform, low=heads, best=ranking.labels)
    pipeline.output(likeness=ops.Similarity()(x, rows))
    return pipeline.validate()


@pytest.fixture(scope="module")
def document(graph: Graph, folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(graph_to_json(graph, str(folder)))
    return loaded


def read(document: Any, folder: Path) -> Graph:
    return graph_from_json(json.dumps(document), str(folder / "graph.json"))


def refused(document: Any, folder: Path) -> tuple[ops.Finding, ...]:
    with pytest.raises(ValidationError) as error:
        read(document, folder)
    assert "pipeline 'all' in " in str(error.value)
    assert "graph.json" in str(error.value)
    return error.value.findings


def test_a_graph_reads_back_to_the_same_json(graph: Graph, folder: Path) -> None:
    text = graph_to_json(graph, str(folder))
    again = graph_from_json(text, str(folder / "graph.json"))
    assert graph_to_json(again, str(folder)) == text
    assert str(again) == str(graph)
    assert again.specs == graph.specs
    assert [step.where for step in again.steps] == [step.where for step in graph.steps]
    assert again.steps[0].where.endswith(f"test_graph_json.py:{graph.inputs[0].where.line + 3}")
    assert again.constants["rows"].tobytes() == graph.constants["rows"].tobytes()


def test_a_graph_moves_with_its_folder(folder: Path, tmp_path: Path, graph: Graph) -> None:
    text = graph_to_json(graph, str(folder))
    model_zoo.write_models(tmp_path)
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n", encoding="utf-8")
    moved = graph_from_json(text, str(tmp_path / "graph.json"))
    (model,) = [step.op for step in moved.steps if step.name == "dense"]
    assert isinstance(model, Model)
    assert model.file == str(tmp_path / "weights" / "dense.onnx")


def test_chinese_stays_readable(folder: Path) -> None:
    pipeline = Pipeline("labels")
    best = ops.TopK(k=1, labels=("猫",) * 8)(pipeline.input("x", VECTOR))
    pipeline.output(best=best.labels)
    assert "猫" in graph_to_json(pipeline.validate(), str(folder))


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    for text in ("", "{", "[]", "null", '{"format": 2}', '{"format": 1}', "[" * 100_000):
        with pytest.raises(SpecError, match="fix: write the file with graph_to_json") as error:
            graph_from_json(text, str(tmp_path / "graph.json"))
        assert "graph.json" in str(error.value)


# ---- findings in JSON


def test_an_unknown_op_is_one_finding(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    broken["nodes"][0]["op"] = "ops:Leterbox"
    (finding,) = refused(broken, folder)
    assert (finding.rule, finding.where.endswith("graph.json")) == ("G13", True)
    assert "node 'letterbox': 'ops:Leterbox' is not a known op" in finding.message


def test_an_unknown_attribute_is_one_finding(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    broken["nodes"][0]["attributes"]["filling"] = 3
    (finding,) = refused(broken, folder)
    assert finding.rule == "G13"
    assert "filling" in finding.message


def test_a_key_that_nothing_makes_is_one_finding_with_the_near_miss(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    broken["outputs"][0]["from"] = "letterbox.imag"
    (finding,) = refused(broken, folder)
    assert finding.rule == "G02"
    assert finding.message == "output 'framed' reads 'letterbox.imag', which nothing makes"
    assert finding.fix == "did you mean 'letterbox.image'?"


def test_a_key_that_two_nodes_make_is_a_finding(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    (similarity,) = [node for node in broken["nodes"] if node["name"] == "similarity"]
    similarity["outputs"] = ["x"]
    assert {finding.rule for finding in refused(broken, folder)} == {"G01", "G02"}


def test_a_missing_model_is_one_finding(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    (dense,) = [node for node in broken["nodes"] if node["name"] == "dense"]
    dense["attributes"]["path"]["asset"] = "weights/dens.onnx"
    (finding,) = refused(broken, folder)
    assert finding.rule == "G14"
    assert finding.where == dense["where"]
    assert "did you mean 'dense.onnx'?" in finding.fix


def test_a_cycle_names_its_nodes(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    nodes = {node["name"]: node for node in broken["nodes"]}
    nodes["heads"]["inputs"] = ["y"]
    (finding,) = [finding for finding in refused(broken, folder) if finding.rule == "G04"]
    assert finding.message == "a cycle: 'heads' -> 'dense' -> 'heads'"


def test_several_problems_are_one_report(document: dict[str, Any], folder: Path) -> None:
    broken = copy.deepcopy(document)
    nodes = {node["name"]: node for node in broken["nodes"]}
    nodes["top_k"]["attributes"]["k"] = 9
    nodes["similarity"]["name"] = "heads"
    broken["inputs"][1]["spec"]["shape"] = [7]
    rules = [finding.rule for finding in refused(broken, folder)]
    assert sorted(rules) == ["G01", "G12", "G12"]


# ---- damage


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


JUNK: Any = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.just([]), st.just({}),
    st.sampled_from(["x", "heads", "bytes", "ops:Softmax", ["x"], [["x"]], {"asset": "\0"}, {"float": "?"}, [8, 8]]),
)  # fmt: skip


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=300, deadline=None)
def test_damaged_json_is_read_or_refused(document: dict[str, Any], folder: Path, data: st.DataObject) -> None:
    broken = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(places(broken)[1:]))
        holder = broken
        for key in parents:
            holder = holder[key]
        what = data.draw(st.sampled_from(["replace", "remove", "double"]))
        if what == "replace":
            holder[last] = copy.deepcopy(data.draw(JUNK))
        elif what == "remove":
            del holder[last]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        if len(places(broken)) == 1:
            break
    with contextlib.suppress(SpecError, ValidationError):
        read(broken, folder)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=100, deadline=None)
def test_cut_or_flipped_text_is_read_or_refused(document: dict[str, Any], folder: Path, data: st.DataObject) -> None:
    text = json.dumps(document, ensure_ascii=False)
    at = data.draw(st.integers(0, len(text) - 1))
    text = text[:at] + data.draw(st.sampled_from(["", chr(ord(text[at]) ^ 1), text[at] * 2])) + text[at + 1 :]
    with contextlib.suppress(SpecError, ValidationError):
        graph_from_json(text, str(folder / "graph.json"))
