from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from ops import Array, Edge, Op, OpError, TensorSpec
from ops.host_stage import HostStage, Step

SPEC = TensorSpec("float32", (2,))


class Pair(NamedTuple):
    first: Edge
    second: Edge


@dataclass(frozen=True)
class Made(Op[Edge]):
    """Whatever the function makes."""

    make: Callable[..., Any]

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, *arrays: Array) -> Any:
        return self.make(*arrays)


@dataclass(frozen=True)
class MadePair(Op[Pair]):
    make: Callable[[Array], Any]

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
        return x, x

    def run(self, x: Array) -> Any:
        return self.make(x)


def step(name: str, op: Op[Any], *inputs: str) -> Step:
    outputs = tuple((f"{name}.{output}" if output else name, output, SPEC) for output in op.output_names)
    return Step(name, op, inputs, outputs, "graph.py:1")


def double(x: Array) -> Array:
    x *= 2
    return x


@pytest.mark.parametrize(
    ("made", "said"),
    [(None, "returned a NoneType for the outputs, declared 2"), (3, "returned a int for the outputs, declared 2"),
     ((1, 2, 3), "returned 3 outputs, declared 2"), ({"first": 1, "second": 2}, "returned a dict for the outputs")],
)  # fmt: skip
def test_an_op_of_two_outputs_that_returns_something_else_fails_alone(made: Any, said: str) -> None:
    stage = HostStage([step("pair", MadePair(lambda x: made), "x")], frozenset({"pair.first"}))
    with pytest.raises(OpError, match=rf"node 'pair' \(MadePair, graph.py:1\): {said}"):
        stage.run({"x": np.zeros(2, np.float32)}, {})


def test_an_op_that_exits_fails_as_any_other() -> None:
    stage = HostStage([step("leave", Made(lambda x: sys.exit(3)), "x")], frozenset({"leave"}))
    with pytest.raises(OpError, match=r"node 'leave' .*: SystemExit: 3"):
        stage.run({"x": np.zeros(2, np.float32)}, {})


def test_an_op_cannot_change_what_the_caller_gave() -> None:
    stage = HostStage([step("double", Made(double), "x")], frozenset({"double"}))
    x = np.ones(2, np.float32)
    with pytest.raises(OpError, match=r"node 'double' .*: ValueError: output array is read-only"):
        stage.run({"x": x}, {})
    assert x.tolist() == [1, 1]
    assert x.flags.writeable


def test_an_op_cannot_change_what_another_step_or_the_answer_has() -> None:
    fresh, changed = step("fresh", Made(lambda x: x + 1), "x"), step("changed", Made(double), "fresh")
    other = step("other", Made(lambda x: x - 1), "fresh")
    for steps, keep in (([fresh, changed, other], {"changed", "other"}), ([fresh, changed], {"fresh", "changed"})):
        with pytest.raises(OpError, match=r"node 'changed' .*read-only"):
            HostStage(steps, frozenset(keep)).run({"x": np.zeros(2, np.float32)}, {})


def test_an_op_may_work_in_place_on_what_it_alone_reads() -> None:
    steps = [step("fresh", Made(lambda x: x + 1), "x"), step("changed", Made(double), "fresh")]
    values: dict[str, Any] = {"x": np.zeros(2, np.float32)}
    HostStage(steps, frozenset({"changed"})).run(values, {})
    assert values["changed"].tolist() == [2, 2]
    assert values["changed"].flags.writeable
