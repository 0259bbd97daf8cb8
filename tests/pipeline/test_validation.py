from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from bad_graphs import BAD, CONSEQUENCES, PRELUDE, VECTOR, declared, findings_of, seen
from onnx_files import node, save, tensor

import ops
from ge_engine import Model
from ops import SpecError, TensorSpec, ValidationError
from pipeline import Batching, Deployment, Pipeline
from pipeline.graph_json import graph_from_json

# ---- the report

TWELVE = (
    PRELUDE
    + """
x = pipeline.input("x", VECTOR)
image = pipeline.input("image", IMAGE)
pixels = pipeline.input("pixels", PIXELS)
batch = pipeline.input("batch", TensorSpec("float32", (1, 8)))
short = pipeline.input("short", TensorSpec("float32", (7,)))
pipeline.input("mask", VECTOR)  # G06: an unused input
unknown = dense(inputs=x)  # G02: an unknown input
ops.Softmax()(x)  # G05: an unused node
twice = ops.Softmax()(x, name="image")  # G01: a duplicate name
dtype = dense(ops.Cast("float16")(x))  # G10: a wrong dtype
rank = dense(batch)  # G11: a wrong rank
dim = dense(short)  # G12: a wrong dim
grey = ops.Normalize(mean=(0.5,), std=(0.5,))(image)  # G12: 3 channels, 1 mean
lost = Model("weights/dens.onnx")(x)  # G14: a missing model file
attribute = ops.TopK(k=0)(x).scores  # G13: a wrong attribute
framed, transform = ops.Letterbox(sizes=((640, 640), (640, 480)))(pixels)
size = Model("weights/square.onnx")(ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(framed))  # G19: a size gear too many
pipeline.output(unknown=unknown, twice=twice, dtype=dtype, rank=rank, dim=dim, grey=grey, lost=lost)
pipeline.output(attribute=attribute, size=size, transform=transform)
pipeline.output(size=transform)  # G07: an output named twice
"""
)


def test_twelve_mistakes_make_one_report_of_twelve_findings(project: Path) -> None:
    pipeline, marks = declared(TWELVE, project)
    with pytest.raises(ValidationError, match="pipeline 'bad': 12 problems") as error:
        pipeline.validate()
    assert len(marks) == 12
    assert seen(error.value.findings) == marks  # in the order of the file
    assert all(finding.fix and finding.message and finding.severity == "refused" for finding in error.value.findings)
    text = str(error.value)
    for both_values in (
        "has no input 'inputs'\n    fix: use x",
        "node 'image' (Softmax) has the name of input 'image' at graph.py:15",
        "dtype is float16, model 'dense' wants float32[batch,8]",
        "rank is 2, model 'dense' wants float32[batch,8]",
        "dim 0 is 7, model 'dense' wants float32[batch,8]",
        "image has 3 channels but mean has 1 value",
        "fix: did you mean 'dense.onnx'?",
        "k is 0",
        "takes the sizes 640, 480, model 'square' wants float32[batch,3,640,640]",
        "output 'size' is named at graph.py:32 too",
    ):
        assert both_values in text


def test_a_report_reads_the_same_each_time(project: Path) -> None:
    pipeline, _ = declared(TWELVE, project)
    assert findings_of(pipeline) == findings_of(pipeline)


def test_the_declaration_stays_usable_after_a_failure(project: Path) -> None:
    pipeline = Pipeline("mended")
    x = pipeline.input("x", VECTOR)
    y = Model(project / "late.onnx")(x)
    assert [finding.rule for finding in findings_of(pipeline)] == ["G08", "G14"]
    pipeline.output(y=y)
    assert [finding.rule for finding in findings_of(pipeline)] == ["G14"]
    (project / "late.onnx").write_bytes((project / "weights" / "dense.onnx").read_bytes())
    assert str(pipeline.validate()) == "mended: x float32[8] -> y float32[4]"


def test_findings_of_several_files_stand_by_file_and_line(project: Path) -> None:
    (project / "towers.py").write_text("import ops\n\n\ndef tower(x):\n    return ops.TopK(k=99)(x).scores\n")
    source = f"{PRELUDE}from towers import tower\nx = pipeline.input('x', VECTOR)\n"
    source += "pipeline.output(a=tower(x), b=ops.TopK(k=0)(x).scores)\n"
    pipeline, _ = declared(source, project)
    assert seen(findings_of(pipeline)) == [("G13", "graph.py:15"), ("G12", "towers.py:5")]


def test_a_place_is_relative_to_the_current_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "examples").mkdir()
    pipeline, _ = declared(PRELUDE + "pipeline.input('x', VECTOR)\n", project / "examples")
    assert findings_of(pipeline)[0].where == "examples/graph.py:12"
    monkeypatch.chdir(project / "examples")
    assert findings_of(pipeline)[0].where == "graph.py:12"


def test_a_shared_parent_is_found_once(project: Path) -> None:
    source = """
x = pipeline.input("x", VECTOR)
scores = ops.TopK(k=0)(x).scores  # G13
odd = pipeline.constant("odd", np.zeros(3, np.complex64))  # G13
pipeline.output(a=ops.Softmax()(scores), b=ops.L2Normalize()(scores), c=ops.Similarity()(x, odd))
pipeline.output(d=ops.Similarity()(ops.Softmax()(x), odd))
"""
    pipeline, marks = declared(PRELUDE + source, project)
    assert seen(findings_of(pipeline)) == marks


# ---- bad graphs


@pytest.mark.parametrize("case", BAD)
def test_a_bad_graph_gets_its_findings_and_no_others(case: str, project: Path) -> None:
    source, message = BAD[case]
    x = "" if "pipeline.input(" in source else 'x = pipeline.input("x", VECTOR)\n'
    pipeline, marks = declared(f"{PRELUDE}{x}{source}\n", project)
    findings = findings_of(pipeline)
    assert sorted(seen(findings)) == sorted(marks)
    text = " ".join(f"{finding.message} fix: {finding.fix}" for finding in findings)
    assert re.search(message, text, re.DOTALL), text
    assert all(finding.fix for finding in findings)


def test_there_are_at_least_forty_bad_graphs() -> None:
    assert len(BAD) >= 40


# ---- a consequence of a finding is not a finding


@pytest.mark.parametrize("case", CONSEQUENCES)
def test_a_consequence_of_a_finding_is_not_a_finding(case: str, project: Path) -> None:
    pipeline, marks = declared(PRELUDE + CONSEQUENCES[case], project)
    assert seen(findings_of(pipeline, Deployment(gears=(1, 4)))) == marks


# ---- settings

FIXED = (
    PRELUDE.replace("dense.onnx", "one_sample.onnx")
    + """
x = pipeline.input("x", VECTOR)
pipeline.output(y=dense(x))  # G18
"""
)


def test_gears_that_a_model_cannot_take_are_found(project: Path) -> None:
    pipeline, marks = declared(FIXED, project)
    for deployment in (None, Deployment(gears=(1,))):
        (advice,) = pipeline.validate(deployment).advice
        assert (advice.rule, advice.severity) == ("G52", "advice")
        assert re.search(r"gepipe inspect \S*/one_sample.onnx says whether --fix can free it", advice.fix)
    assert pipeline.compile().findings == (advice,)  # once
    findings = findings_of(pipeline, Deployment(gears=(1, 4)))
    assert seen(findings) == marks
    assert findings[0].fix == f"compile with gears=(1,) (--gears 1), or {advice.fix}"
    assert "the model's batch is fixed to 1, the gears are (1, 4)" in findings[0].message
    with pytest.raises(ValidationError, match="compile with gears=\\(1,\\)"):
        pipeline.compile(gears=(1, 4))


def test_a_setting_for_a_model_that_is_not_there_is_found(project: Path) -> None:
    pipeline, _ = declared(FIXED, project)
    findings = findings_of(pipeline, Deployment(gears={"one_sampel": (1,)}, precision={"other": "fp16"}))
    findings = tuple(finding for finding in findings if finding.severity != "advice")
    assert seen(findings) == [("G18", "graph.py:12"), ("G18", "graph.py:12")]
    assert findings[0].message == "gears names the model 'one_sampel', which is not in this pipeline"
    assert findings[0].fix == "did you mean 'one_sample'?"
    assert "precision names the model 'other'" in findings[1].message


@pytest.mark.parametrize(
    ("preferred", "said"),
    [
        ((4,), ""),
        ((1, 3), "batching.preferred has 3, and the gears are 1, 4: each costs as much as the next gear"),
        ((6, 8), "batching.preferred has 6, 8, and the gears are 1, 4: above 4 none is merged"),
    ],
)
def test_a_preferred_batch_that_is_no_gear_is_an_advice(preferred: Any, said: str, models: Path) -> None:
    pipeline = Pipeline("preferring")
    pipeline.output(y=Model(models / "weights" / "dense.onnx")(pipeline.input("x", VECTOR)))
    settings = Deployment(gears=(1, 4), batching=Batching(preferred=preferred))
    findings = pipeline.validate(settings).advice
    assert [(finding.rule, finding.severity, finding.message) for finding in findings] == (
        [("G18", "advice", said)] if said else []
    )
    if said:
        gears = tuple(sorted({1, 4, *preferred}))
        assert findings[0].fix == f"prefer some of the gears, or compile with gears={gears}"
        assert not pipeline.validate(Deployment(gears=gears, batching=Batching(preferred=preferred))).advice


def test_two_models_may_make_a_size_of_one_name_of_the_size_that_one_op_picks(tmp_path: Path) -> None:
    for name in "ab":
        pooled = node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
        ends = tensor("x", ("n", 3, "h", "w")), tensor("y", ("n", 3, "rows", "columns"))
        save(tmp_path / f"{name}.onnx", [pooled], [ends[0]], [ends[1]])
    pipeline = Pipeline("two")
    pixels = pipeline.input("image", TensorSpec("uint8", ("height", "width", 3)))
    framed, _ = ops.Letterbox(sizes=((64, 64), (32, 48)))(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(framed)
    pipeline.output(a=Model(tmp_path / "a.onnx")(x), b=Model(tmp_path / "b.onnx")(x))
    assert pipeline.validate().advice == ()


def test_two_models_of_one_name_are_an_advice_and_no_more(models: Path) -> None:
    pipeline = Pipeline("towers")
    x = pipeline.input("x", VECTOR)
    a, b = (Model(models / "weights" / kind / "model.onnx")(x) for kind in ("image", "text"))
    pipeline.output(a=a, b=b)
    (advice,) = pipeline.validate().advice
    assert (advice.rule, advice.severity) == ("G20", "advice")


def test_one_model_used_twice_is_fine(models: Path) -> None:
    pipeline = Pipeline("twice")
    model = Model(models / "weights" / "heads.onnx")
    pipeline.output(y=model(model(pipeline.input("x", VECTOR))["high"])["low"])
    graph = pipeline.validate()
    assert [step.name for step in graph.steps] == ["heads", "heads_2"]
    assert graph.advice == ()


# ---- the graph


def test_keys_are_the_names_that_the_user_knows(project: Path) -> None:
    source = """
x, image = pipeline.input("x", VECTOR), pipeline.input("image", PIXELS)
framed, transform = ops.Letterbox(height=640, width=640)(image)
heads = Model("weights/heads.onnx")(x)
pipeline.output(f=framed, t=transform, low=heads, high=heads["high"], s=ops.Softmax()(x))
"""
    graph = declared(PRELUDE + source, project)[0].validate()
    keys = {output.name: output.key for output in graph.outputs}
    assert keys == {"f": "letterbox.image", "t": "letterbox.transform", "low": "low", "high": "high", "s": "softmax"}
    assert [step.where for step in graph.steps] == ["graph.py:15", "graph.py:16", "graph.py:17"]


def test_every_value_has_a_key_of_its_own(models: Path) -> None:
    pipeline = Pipeline("clash")
    x = pipeline.input("x", VECTOR)
    model = Model(models / "weights" / "heads.onnx")
    low = ops.Softmax()(x, name="low")
    pipeline.output(a=low, b=model(x)["low"], c=model(x)["high"], d=model(x)["high"])
    graph = pipeline.validate()
    made = [key for step in graph.steps for key, _, _ in step.outputs]
    assert len(set(made)) == len(made)
    assert [output.key for output in graph.outputs] == ["low", "heads.low", "heads_2.high", "heads_3.high"]


def test_steps_keep_the_users_order_where_there_is_a_choice() -> None:
    pipeline = Pipeline("order")
    x = pipeline.input("x", VECTOR)
    edges = {f"n{i}": ops.Softmax()(x, name=f"n{i}") for i in (3, 1, 2)}
    pipeline.output(**{f"o{i}": edge for i, edge in enumerate(edges.values())})
    assert [step.name for step in pipeline.validate().steps] == ["n3", "n1", "n2"]


def test_a_constant_is_copied_and_frozen() -> None:
    array = np.ones((2, 8), ">f4")
    pipeline = Pipeline("frozen")
    pipeline.output(y=ops.Similarity()(pipeline.input("x", VECTOR), pipeline.constant("c", array)))
    array[:] = 5
    constant = pipeline.validate().constants["c"]
    assert constant.max() == 1
    assert constant.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        constant[:] = 5


# ---- properties

UNARY: tuple[Callable[[], Any], ...] = (ops.L2Normalize, lambda: ops.Cast("float32"))


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """A DAG of simple ops on float32[8], all of it used."""
    pipeline = Pipeline("random")
    edges = [pipeline.input(f"x{i}", VECTOR) for i in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        rows = draw(st.integers(1, 3))
        edges.append(ops.Similarity()(edges[0], pipeline.constant("c", np.ones((8, 8), np.float32) / rows)))
    used: set[int] = set()
    for _ in range(draw(st.integers(0, 6))):
        source = draw(st.integers(0, len(edges) - 1))
        used.add(source)
        edges.append(draw(st.sampled_from(UNARY))()(edges[source]))
    unread = [edge for i, edge in enumerate(edges) if i not in used]
    pipeline.output(**{f"y{i}": ops.Softmax()(edge) for i, edge in enumerate(unread)})
    return pipeline


@hypothesis.given(pipelines())
@hypothesis.settings(max_examples=50, deadline=None)
def test_a_sound_dag_has_no_finding(pipeline: Pipeline) -> None:
    graph = pipeline.validate()
    assert graph.advice == ()
    before = {value.name for value in graph.inputs} | set(graph.constants)
    for step in graph.steps:
        assert before.issuperset(step.inputs)
        before.update(key for key, _, _ in step.outputs)


@hypothesis.given(pipelines(), st.data())
@hypothesis.settings(max_examples=50, deadline=None)
def test_an_edge_turned_back_makes_a_cycle_that_is_named(pipeline: Pipeline, data: st.DataObject) -> None:
    entries = pipeline.declaration.entries
    numbers = [i for i, entry in enumerate(entries) if hasattr(entry, "op")]
    hypothesis.assume(numbers)
    first = data.draw(st.sampled_from(numbers))
    object.__setattr__(entries[first], "inputs", tuple((first, "") for _ in entries[first].inputs))  # type: ignore[union-attr]
    (cycle,) = [finding for finding in findings_of(pipeline) if finding.rule == "G04"]
    assert re.fullmatch(r"a cycle: '(\w+)' -> '\1'", cycle.message)


def test_what_json_can_say_and_python_cannot_is_found_too(tmp_path: Path) -> None:
    nodes = [
        {"name": name, "op": "ops:Softmax", "attributes": {"axis": -1}, "inputs": [source], "outputs": [name]}
        for name, source in (("a", "c"), ("b", "a"), ("c", "b"))
    ]
    document: dict[str, Any] = {
        "format": 1,
        "name": "loop",
        "inputs": [{"name": "x", "spec": {"dtype": "float32", "shape": [8]}}],
        "constants": [],
        "nodes": nodes,
        "outputs": [{"name": "y", "from": "c"}],
    }
    with pytest.raises(ValidationError, match="'a' -> 'b' -> 'c' -> 'a'") as error:
        graph_from_json(json.dumps(document), str(tmp_path / "graph.json"))
    assert [finding.rule for finding in error.value.findings] == ["G04", "G06"]


def test_what_infer_wants_instead_is_no_secret() -> None:
    with pytest.raises(SpecError) as error:
        ops.Softmax().infer(TensorSpec("int32", (8,)))
    assert error.value.wanted == VECTOR


def test_an_output_whose_size_the_data_decides_may_be_left_alone(project: Path) -> None:
    pipeline = Pipeline("some")
    pipeline.output(y=Model(str(project / "weights" / "some.onnx"))(pipeline.input("x", VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(x=np.arange(8, dtype=np.float32))["y"].tolist() == [0, -1, -2, -3, -4, -5, -6, -7]
