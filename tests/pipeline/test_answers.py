from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from rich.console import Console

from ops import Counted, TensorSpec, Where
from pipeline.answers import answer_table, to_json
from pipeline.graph import GraphOutput


def shown(answer: dict[str, Any], width: int = 80, **specs: TensorSpec) -> str:
    outputs = [GraphOutput(name, name, spec, Where("graph.py", 1)) for name, spec in specs.items()]
    text = io.StringIO()
    Console(file=text, width=width).print(answer_table(answer, outputs))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def test_json_holds_every_kind_of_value() -> None:
    answer = {
        "f": np.array([0.5, np.nan, np.inf, -np.inf], np.float32),
        "i": np.array([[1, 2**62]]),
        "b": np.array([True]),
        "none": np.zeros((0, 4), np.float32),
        "text": "猫".encode(),
        "raw": b"\xff\xd8",
        "labels": np.array(["猫".encode(), b"\xff"], object),
    }
    assert json.loads(json.dumps(to_json(answer), allow_nan=False)) == {
        "f": [0.5, None, None, None],
        "i": [[1, 2**62]],
        "b": [True],
        "none": [],
        "text": "猫",
        "raw": {"base64": "/9g="},
        "labels": ["猫", {"base64": "/w=="}],
    }


def test_what_counts_one_thing_stands_side_by_side() -> None:
    n = Counted("detections", 300)
    answer = {
        "boxes": np.array([[0.5, 1, 20, 30], [1, 2, 3, 400]], np.float32),
        "scores": np.array([0.9, 0.25], np.float32),
        "classes": np.array([5, 0], np.int32),
        "labels": np.array(["公交车".encode(), b"dog"], object),
    }
    specs = {
        "boxes": TensorSpec("float32", (n, 4)),
        "scores": TensorSpec("float32", (n,)),
        "classes": TensorSpec("int32", (n,)),
        "labels": TensorSpec("bytes", (n,)),
    }
    assert shown(answer, **specs) == (
        "2 detections\n"
        "             boxes  scores  classes  labels\n"
        "0.5 1.0 20.0  30.0   0.900        5  公交车\n"
        "1.0 2.0  3.0 400.0   0.250        0     dog"
    )


def test_no_detection_is_an_empty_table() -> None:
    spec = TensorSpec("float32", (Counted("detections", 300),))
    assert "0 detections" in shown({"scores": np.zeros(0, np.float32)}, scores=spec)


def test_of_many_rows_the_first_are_shown_and_the_rest_counted() -> None:
    spec = TensorSpec("float32", (Counted("detections", 300),))
    text = shown({"scores": np.linspace(0, 1, 30, dtype=np.float32)}, scores=spec)
    assert "30 detections" in text
    assert "... and 10 more (--json shows all)" in text


def test_others_stand_alone_with_dtype_and_shape() -> None:
    answer = {
        "v": np.arange(3, dtype=np.float32),
        "labels": np.array(["猫".encode()] * 25, object),
        "text": "狗".encode(),
    }
    specs = {
        "v": TensorSpec("float32", (3,)),
        "labels": TensorSpec("bytes", (25,)),
        "text": TensorSpec("bytes", ()),
    }
    text = shown(answer, **specs)
    assert "v  float32[3]\n[0. 1. 2.]" in text
    assert "labels  bytes[25]\n[猫, 猫" in text
    assert "... and 5 more" in text
    assert "text  狗" in text


def test_a_large_array_fits_eighty_columns() -> None:
    text = shown({"v": np.random.default_rng(0).normal(size=(200, 300))}, v=TensorSpec("float64", (200, 300)))
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) < 30


def test_text_is_not_taken_for_markup() -> None:
    assert "[red]x[/red]" in shown({"t": b"[red]x[/red]"}, t=TensorSpec("bytes", ()))
