from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
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
    [(None, "returned a NoneType for the outputs, declared 2"), (3, "returned an int for the outputs, declared 2"),
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


def test_a_stage_tells_when_each_step_ended_and_what_it_made() -> None:
    steps = [step("first", Made(lambda x: x + 1), "x"), step("pair", MadePair(lambda x: (x, x + 1)), "first")]
    steps.append(step("last", Made(lambda x: x * 2), "pair.second"))
    times, sizes = [perf_counter()], list[int]()
    HostStage(steps, frozenset({"last"})).run({"x": np.zeros(2, np.float32)}, {}, None, times, sizes)
    assert len(times) == 4
    assert times == sorted(times)
    assert times[-1] <= perf_counter()
    assert sizes == [8, 16, 8]  # two float32 an output, also of what is dropped after its last use


def test_of_a_failing_stage_the_steps_before_the_failure_are_told() -> None:
    steps = [step("first", Made(lambda x: x + 1), "x"), step("second", Made(lambda x: sys.exit(3)), "first")]
    times, sizes = list[float](), list[int]()
    with pytest.raises(OpError, match="node 'second'"):
        HostStage(steps, frozenset({"second"})).run({"x": np.zeros(2, np.float32)}, {}, None, times, sizes)
    assert (len(times), sizes) == (1, [8])


FAULTS = """
import resource
import cv2, numpy as np
from ops import DecodeImage
from ops.host_stage import HostStage
picture = cv2.imencode(".jpg", np.full((1080, 810, 3), 90, np.uint8))[1].tobytes()
HostStage((), frozenset())
for count in (3, 10):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(count):
        DecodeImage(color="RGB").run(picture)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_a_picture_uses_the_memory_of_the_one_before_it() -> None:
    """Without a page fault; a picture of 1080 x 810 has 640 pages, and its decoder has as many."""
    if platform.libc_ver()[0] != "glibc":
        return
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 640
