from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import ops
from ge_engine import Model
from ops import DeclarationError, Edge, TensorSpec
from pipeline import Pipeline

VECTOR = TensorSpec("float32", (8,))


def here(place: str) -> str:
    """The source line that a place names."""
    file, _, line = place.rpartition(":")
    return linecache.getline(file, int(line)).strip()


def test_every_entry_and_output_has_the_line_that_declared_it() -> None:
    pipeline = Pipeline("lines")
    x = pipeline.input("x", VECTOR)
    c = pipeline.constant("c", np.ones((2, 8), np.float32))
    y = ops.Similarity()(x, c)
    pipeline.output(y=y)
    declaration = pipeline.declaration
    lines = [here(str(entry.where)) for entry in (declaration, *declaration.entries, *declaration.outputs)]
    assert lines == [
        'pipeline = Pipeline("lines")',
        'x = pipeline.input("x", VECTOR)',
        'c = pipeline.constant("c", np.ones((2, 8), np.float32))',
        "y = ops.Similarity()(x, c)",
        "pipeline.output(y=y)",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda p: p.input("x", "float32"), "input 'x': 'float32' is not a spec"),
        (lambda p: p.constant("c", [[1], [2, 3]]), "constant 'c': .*inhomogeneous"),
        (lambda p: p.output(y=5), "output 'y': int is not an edge"),
        (lambda p: p.output(y=(Edge(p, 0),)), "output 'y': tuple is not an edge"),
        (lambda p: p.output(y=ops.Softmax()), "output 'y': Softmax is not called"),
        (lambda p: ops.Softmax()(Model("m.onnx")), "Softmax, input 1: Model is not called"),
        (lambda p: ops.Softmax()("x"), "Softmax, input 1: str is not an edge"),
        (lambda p: ops.Softmax()(), "Softmax is called without an input"),
    ],
)
def test_a_wrong_use_that_cannot_wait_is_raised_at_the_users_line(wrong: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message) as error:
        wrong(Pipeline("wrong"))
    assert "lambda p" in here(error.value.where)
    assert error.value.fix


def test_a_bundle_is_no_edge_and_its_fields_are_named() -> None:
    pipeline = Pipeline("bundle")
    framed = ops.Letterbox(height=8, width=8)(pipeline.input("image", TensorSpec("uint8", ("H", "W", 3))))
    with pytest.raises(DeclarationError, match=r"LetterboxEdges is not an edge\nfix: pass one of its outputs: .image"):
        ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(framed)  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match=r"is not an edge\nfix: pass one of its outputs: .image, .transform"):
        pipeline.output(y=framed)  # type: ignore[arg-type]


def test_nothing_is_read_before_validate() -> None:
    pipeline = Pipeline("lazy")
    pipeline.output(y=Model("there/is/no/such.onnx")(pipeline.input("x", VECTOR)))
    assert len(pipeline.declaration.entries) == 2


def test_outputs_may_be_named_in_several_calls() -> None:
    pipeline = Pipeline("several")
    x = pipeline.input("x", VECTOR)
    pipeline.output(a=ops.Softmax()(x))
    pipeline.output(b=ops.L2Normalize()(x))
    assert [output.name for output in pipeline.validate().outputs] == ["a", "b"]


def test_a_failure_takes_nothing_back() -> None:
    pipeline = Pipeline("usable")
    x = pipeline.input("x", VECTOR)
    with pytest.raises(DeclarationError):
        pipeline.output(y=5)  # type: ignore[arg-type]
    pipeline.output(y=ops.Softmax()(x))
    assert pipeline.validate().name == pipeline.name == "usable"
