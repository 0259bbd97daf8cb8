from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import ops
from pipeline import Pipeline
from pipeline.graph import Graph
from pipeline.passes.promise import assert_kept


def graph() -> Graph:
    pipeline = Pipeline("promise")
    image = pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))
    pipeline.output(y=ops.Resize(height=4, width=4)(ops.SwapChannels()(image)))
    return pipeline.validate()


BROKEN: dict[str, Callable[[Graph], Graph]] = {
    "an input is gone": lambda g: replace(g, inputs=()),
    "an output is gone": lambda g: replace(g, outputs=()),
    "a step runs before its time": lambda g: replace(g, steps=g.steps[::-1]),
    "a step of nobody's": lambda g: replace(g, steps=(replace(g.steps[0], where="?"), g.steps[1])),
    "a step twice": lambda g: replace(g, steps=(*g.steps, g.steps[1])),
    "a spec that infer does not give": lambda g: replace(
        g, steps=(g.steps[0], replace(g.steps[1], op=ops.Resize(height=5, width=4)))
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_pass_that_breaks_its_promise_is_stopped(broken: str) -> None:
    before = graph()
    assert_kept(before, before)
    with pytest.raises((AssertionError, KeyError)):
        assert_kept(before, BROKEN[broken](before))
