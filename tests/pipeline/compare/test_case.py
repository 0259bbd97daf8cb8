from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from onnx_files import node, onnx_model, tensor

from ops import Array
from pipeline.compare.case import Case, compared
from pipeline.compare.sides import Feeds, GraphSide, Place

GRAPH = onnx_model(
    [
        node("Relu", ["x"], ["a"], name="first"),
        node("TopK", ["a", "k"], ["best", "places"], name="top"),
        node("SplitToSequence", ["a"], ["parts"], name="parts"),
        node("SequenceLength", ["parts"], ["count"], name="count"),
        node("Mul", ["best", "best"], ["y"], name="last"),
    ],
    [tensor("x", ["n", 12])],
    [tensor("y", ["n", 12]), tensor("count", [], np.int64)],
    {"k": np.array([12])},
)
ROWS = np.random.default_rng(0).normal(size=(3, 12)).astype(np.float32)


class Made:
    """A side with values of its own, in an order of its own."""

    name = "made"

    def __init__(self, *values: tuple[str, Array]) -> None:
        self.all = values

    def known(self, places: Mapping[str, Place]) -> set[str]:
        return {name for name, _ in self.all} & places.keys()

    def values(self, feeds: Feeds, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        return iter([(name, array) for name, array in self.all if name in names])


def case(*rows: Array) -> Case:
    return Case("m", GRAPH, tuple({"x": row} for row in rows))


def test_every_tensor_is_compared_in_the_order_in_which_they_are_made() -> None:
    side = GraphSide("a", GRAPH)
    layers = compared(case(ROWS[:1], ROWS[1:]), side, side)
    assert [(layer.tensor, layer.slot) for layer in layers] == [
        ("a", 0), ("best", 0), ("places", 1), ("count", 0), ("y", 0),
    ]  # fmt: skip
    assert all(layer.measure and layer.measure.max_abs == 0 for layer in layers)
    assert [layer.measure.count for layer in layers if layer.measure and layer.tensor == "a"] == [36]  # of both runs
    assert [layer.tensor for layer in layers if layer.is_output] == ["count", "y"]


def test_a_sequence_is_no_tensor() -> None:
    side = GraphSide("a", GRAPH)
    assert "parts" not in {layer.tensor for layer in compared(case(ROWS), side, side)}


def test_the_sides_may_have_orders_of_their_own_and_lack_some() -> None:
    a = np.maximum(ROWS, 0)
    made = Made(("y", a[:, :4]), ("a", a))
    layers = {layer.tensor: layer for layer in compared(case(ROWS), GraphSide("a", GRAPH), made)}
    assert layers["a"].measure is not None
    assert layers["a"].measure.max_abs == 0
    assert layers["y"].fault == "its shape is [3, 4], not [3, 12]"
    assert layers["best"].fault == "not in made"


def test_only_some_tensors_are_compared_where_so_asked() -> None:
    side = GraphSide("a", GRAPH)
    assert [layer.tensor for layer in compared(case(ROWS), side, side, ["y"])] == ["y"]


def test_whole_numbers_are_measured_and_not_judged() -> None:
    from pipeline.compare.limits import Limits

    places = np.argsort(-np.maximum(ROWS, 0), kind="stable")
    layers = compared(case(ROWS), GraphSide("a", GRAPH), Made(("places", places[:, ::-1])), ["places"])
    (layer,) = layers
    assert layer.measure is not None
    assert layer.measure.max_abs > 0
    assert layer.departs(Limits()) == ""


def test_an_output_with_a_row_of_scores_tells_whether_the_best_agree() -> None:
    scores = np.maximum(ROWS, 0)
    graph = onnx_model([node("Relu", ["x"], ["y"], name="n")], [tensor("x", ["n", 12])], [tensor("y", ["n", 12])])
    turned = scores.copy()
    turned[0] = scores[0, ::-1]
    turned[0, scores[0, ::-1].argmax()] = 0  # another is the best of the first row now
    (layer,) = compared(Case("m", graph, ({"x": ROWS},)), GraphSide("a", graph), Made(("y", turned)))
    assert layer.agreement is not None
    assert layer.agreement[1] == 2 / 3
