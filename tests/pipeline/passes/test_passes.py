"""The compiled pipeline against the one that nobody compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from by_hand import run_by_hand
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_pipelines import Declaration, declarations

from pipeline import Deployment
from pipeline.passes import compiled
from pipeline.passes.change import BITWISE, ONE_STEP

TOO_SLOW = list(HealthCheck)  # none matters: what is drawn is compiled once, and is right
STEP = 1 / 255 / 0.1  # of a uint8 picture, behind the Normalize of the random pipelines


def for_each(count: int, work: Callable[[Declaration], None]) -> None:
    @seed(7)
    @settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=TOO_SLOW)
    @given(declarations())
    def draw(declaration: Declaration) -> None:
        work(declaration)

    draw()


def test_200_random_pipelines_compiled_exactly_give_the_bytes_of_the_uncompiled(tmp_path: Path) -> None:
    rules: set[str] = set()

    def compare(declaration: Declaration) -> None:
        graph = declaration.declare(tmp_path, "p").validate()
        plan, samples = declaration.compile(tmp_path, "p", exact=True)
        rules.update(change.rule for change in plan.changes)
        assert {change.exactness for change in plan.changes} <= {BITWISE}
        with plan.session() as session:
            for sample in samples:
                want, got = run_by_hand(graph, sample), session.run(**sample)
                assert {name: same_bytes(value) for name, value in got.items()} == {
                    name: same_bytes(value) for name, value in want.items()
                }, declaration

    for_each(200, compare)
    assert rules == {"cut", "order", "place", "share"}


def same_bytes(value: Any) -> tuple[Any, ...]:
    return (value.dtype, value.shape, value.tolist() if value.dtype == object else value.tobytes())


def test_what_is_not_exact_stays_within_what_it_says(tmp_path: Path) -> None:
    said: set[str] = set()

    def compare(declaration: Declaration) -> None:
        graph = declaration.declare(tmp_path, "p").validate()
        plan, samples = declaration.compile(tmp_path, "p")
        exactness = {change.exactness for change in plan.changes}
        said.update(exactness)
        with plan.session() as session:
            for sample in samples:
                want, got = run_by_hand(graph, sample), session.run(**sample)
                for name, value in want.items():
                    if value.dtype == np.float32 and (name in ("inside", "again") or exactness <= {BITWISE}):
                        np.testing.assert_allclose(got[name], value, rtol=0, atol=bound(exactness, value))

    for_each(80, compare)
    assert {BITWISE, ONE_STEP} < said


def bound(exactness: set[str], value: Any) -> float:
    if ONE_STEP in exactness:
        return 27 * 3 * STEP  # no weight of the model is above 3, and 27 of them meet in a number
    return 0.0 if exactness <= {BITWISE} else 2e-6 * float(np.abs(value).max())


def test_a_plan_is_the_same_each_time(tmp_path: Path) -> None:
    def compare(declaration: Declaration) -> None:
        once, again = (compiled(declaration.declare(tmp_path, "p").validate(), Deployment()) for _ in range(2))
        assert [step.name for step in once.graph.steps] == [step.name for step in again.graph.steps]
        assert dict(once.placed) == dict(again.placed)
        assert once.changes == again.changes

    for_each(20, compare)
