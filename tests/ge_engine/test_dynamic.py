from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx_files import node, onnx_model, save, tensor

from ge_engine.dynamic import dynamic_chains, values_of
from ge_engine.shapes import shape_of
from ge_engine.skeleton import read_skeleton


def test_nms_makes_what_follows_it_dynamic_and_nothing_else(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["scores"], ["positive"], name="relu"),
        node("NonMaxSuppression", ["boxes", "positive", "most"], ["kept"], name="nms"),
        node("Cast", ["kept"], ["y"], name="cast", to=1),
        node("Neg", ["positive"], ["z"], name="neg"),
    ]
    inputs = [tensor("boxes", (1, 50, 4)), tensor("scores", (1, 3, 50))]
    outputs = [tensor("y", None), tensor("z", None)]
    model = read_skeleton(str(save(tmp_path / "m.onnx", nodes, inputs, outputs, {"most": np.int64([5])}))).model
    chains = dynamic_chains(model, values_of(model))
    assert chains == {"kept": ("nms",), "y": ("nms", "cast")}


def test_onnx_runtime_is_asked_about_operators_that_are_its_own() -> None:
    nodes = [
        node("QuickGelu", ["x"], ["a"], name="gelu", domain="com.microsoft"),
        node("Relu", ["a"], ["y"], name="relu"),
    ]
    model = onnx_model(nodes, [tensor("x", (2, 4))], [tensor("y", None)], domains=["com.microsoft"])
    values = values_of(model)
    assert {name: shape_of(value) for name, value in values.items()} == {"x": (2, 4), "a": (2, 4), "y": (2, 4)}
    assert dynamic_chains(model, values) == {}


def test_a_size_that_is_computed_from_a_dynamic_one_has_the_same_cause() -> None:
    nodes = [
        node("NonZero", ["x"], ["places"], name="nonzero"),
        node("Shape", ["places"], ["shape"], name="shape", start=1, end=2),
        node("Squeeze", ["shape"], ["count"], name="squeeze"),
        node("Range", ["zero", "count", "one"], ["y"], name="range"),
    ]
    weights = {"zero": np.int64(0), "one": np.int64(1)}
    model = onnx_model(nodes, [tensor("x", (2, 4))], [tensor("y", (None,), np.int64)], weights)
    chains = dynamic_chains(model, values_of(model))
    assert chains == {"places": ("nonzero",), "y": ("nonzero", "shape", "squeeze", "range")}
