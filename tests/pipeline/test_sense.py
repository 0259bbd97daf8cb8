from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bad_graphs import PRELUDE, declared, findings_of, seen
from model_zoo import lookup
from onnx_files import node, save, tensor

import ops
from ge_engine import Model
from ops import TensorSpec
from pipeline import Pipeline

VOCAB = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + "".join(f"word{i}\n" for i in range(8))  # 12 lines: ids of 0 to 11
TOKENIZED = (
    PRELUDE
    + """
x, text = pipeline.input("x", VECTOR), pipeline.input("text", ops.TEXT)
ids, mask, types = ops.Tokenize("vocab.txt", max_length=4)(text)
y = Model("lookup.onnx")(x, {})  {}
pipeline.output(y=y)
"""
)


@pytest.mark.parametrize(
    ("rows", "given", "comment"),
    [
        (10, "ids", "# G25"),
        (11, 'ops.Cast("int64")(ops.Cast("int32")(ids))', "# G25"),
        (12, "ids", ""),
        (2, "mask", ""),
        (1, "mask", "# G25"),
        (1, "types", ""),
        (1, 'ops.Cast("int64")(ops.Cast("bool")(types))', ""),
    ],
)
def test_ids_beyond_the_table_of_the_model_are_refused(project: Path, rows: int, given: str, comment: str) -> None:
    (project / "vocab.txt").write_text(VOCAB, encoding="utf-8")
    lookup(project / "lookup.onnx", rows)
    pipeline, marks = declared(TOKENIZED.format(given, comment), project)
    found = findings_of(pipeline)
    assert seen(found) == marks
    if comment and given == "ids":
        assert found[0].severity == "refused"
        assert found[0].message == (
            "node 'lookup' (Model), input ids: node 'tokenize' (Tokenize) at graph.py:15 makes ids up to 11, and the "
            "model's table 'table' has 10 rows, for 0 to 9"
        )
        assert "the vocabulary and the model of one training" in found[0].fix


@pytest.mark.parametrize("cast", [False, True])
def test_a_softmax_of_probabilities_is_an_advice(tmp_path: Path, cast: bool) -> None:
    dims = ("batch", 4)
    path = save(tmp_path / "m.onnx", [node("Sigmoid", ["x"], ["y"])], [tensor("x", dims)], [tensor("y", dims)])
    pipeline = Pipeline("twice")
    scores: ops.Edge = Model(path)(pipeline.input("x", TensorSpec("float32", (4,))))
    pipeline.output(p=ops.Softmax()(ops.Cast("float32")(scores) if cast else scores))
    (found,) = pipeline.validate().advice
    assert found.rule == "G26"
    assert "output 'y' of node 'm' (Model) comes from a Sigmoid: these are probabilities already" in found.message


@pytest.mark.parametrize(("shape", "axis", "said"), [((1,), -1, True), ((1, 4), 0, True), ((1, 4), 1, False)])
def test_a_softmax_of_one_number_is_an_advice(shape: tuple[int, ...], axis: int, said: bool) -> None:
    pipeline = Pipeline("one")
    pipeline.output(p=ops.Softmax(axis=axis)(pipeline.input("x", TensorSpec("float32", shape))))
    found = pipeline.validate().advice
    assert [(one.rule, one.severity) for one in found] == [("G26", "advice")] * said
    assert all("has one number, and a Softmax makes 1.0 of any" in one.message for one in found)


def test_outputs_that_are_dropped_are_named_unless_one_was_picked_by_name(project: Path) -> None:
    def found(*names: str) -> list[str]:
        pipeline = Pipeline("heads")
        made = Model(project / "weights/heads.onnx")(pipeline.input("x", TensorSpec("float32", (8,))))
        pipeline.output(**{f"out_{name}": made[name] if name else made for name in names})
        assert all(one.severity == "advice" for one in pipeline.validate().advice)
        return [f"{one.rule} {one.message}: {one.fix}" for one in pipeline.validate().advice]

    assert found("") == [
        "G27 node 'heads' (Model) stands for its first output, 'low': 'high' is dropped: "
        'say which is meant: model(...)["low"], or ["high"]'
    ]
    assert found("low") == found("high") == found("", "high") == []


def test_a_constant_of_ids_is_looked_at_too(project: Path) -> None:
    pipeline = Pipeline("constant")
    ids = pipeline.constant("ids", np.array([1, 10]))
    pipeline.output(y=Model(project / "weights/lookup.onnx")(pipeline.input("x", TensorSpec("float32", (8,))), ids))
    (found,) = findings_of(pipeline)
    assert found.rule == "G25"
    assert "constant 'ids' at" in found.message
